/* SPDX-License-Identifier: Apache-2.0 */

/* Times as text. */


#ifndef MCP_TIME_H_INCLUDED
#define MCP_TIME_H_INCLUDED


#include "mcp_buf.h"


/*
 * Appends a time, in ms since the epoch, in the form of ISO 8601 for UTC:
 * 2026-07-28T09:05:00.250Z.
 */
void mcp_time_write(mcp_buf_t *buf, uint64_t ms);


#endif /* MCP_TIME_H_INCLUDED */
