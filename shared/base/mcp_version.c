/* SPDX-License-Identifier: Apache-2.0 */

/* Defines mcp_version[], the version number followed by the commit.
 * scripts/commit generates mcp_commit.h, so a new commit recompiles this file
 * only. */


#include "mcp_version.h"

#ifdef __has_include
#if __has_include("mcp_commit.h")
#include "mcp_commit.h"
#endif
#endif

#ifndef MCP_COMMIT
#define MCP_COMMIT  ""
#endif


const char  mcp_version[] = MCP_VERSION MCP_COMMIT;
