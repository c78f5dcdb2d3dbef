/* SPDX-License-Identifier: Apache-2.0 */

/* The version of this project, of the core and of both modules (semver.org). */


#ifndef MCP_VERSION_H_INCLUDED
#define MCP_VERSION_H_INCLUDED


#define MCP_VERSION      "0.9.0"

/* The same as a number that can be compared: 0xMMmmpp. */
#define MCP_VERSION_NUM  0x000900


#endif /* MCP_VERSION_H_INCLUDED */
