/* SPDX-License-Identifier: Apache-2.0 */

/* The version of this project, of the core and of both modules (semver.org). */


#ifndef MCP_VERSION_H_INCLUDED
#define MCP_VERSION_H_INCLUDED


#include "mcp.h"


MCP_DECLARATIONS_BEGIN


#define MCP_VERSION      "0.10.0-dev"

/* The version as a number that can be compared: 0xMMmmpp. */
#define MCP_VERSION_NUM  0x000a00


/* MCP_VERSION, followed in a build between releases by the commit, if git is
 * available at build time: "0.10.0-dev+a8be4ae". */
extern const char  mcp_version[];


MCP_DECLARATIONS_END


#endif /* MCP_VERSION_H_INCLUDED */
