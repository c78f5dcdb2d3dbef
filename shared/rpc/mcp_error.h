/* SPDX-License-Identifier: Apache-2.0 */

/* Error responses with an error from a backend. */


#ifndef MCP_ERROR_H_INCLUDED
#define MCP_ERROR_H_INCLUDED


#include "rpc/mcp_revision.h"
#include "base/mcp_buf.h"


/* The code of a request that lacks a capability (2026-07-28, schema,
 * MissingRequiredClientCapabilityError). */
#define MCP_CODE_CAPABILITY  -32021


/*
 * Appends a complete error response. error is an object of valid JSON with an
 * integer "code".
 *
 * A stateless revision allows neither -32000 to -32019, nor -32042, nor a
 * reserved code that it does not define (2026-07-28, basic/index, "Error
 * Codes"): -32002 becomes -32602 with uri, which may be empty, as error.data
 * unless there is data; the other codes become -32603.
 *
 * Returns the code that was written.
 */
int64_t mcp_error_write(mcp_buf_t *out, mcp_revision_e revision, mcp_str_t id,
    mcp_str_t error, mcp_str_t uri);


#endif /* MCP_ERROR_H_INCLUDED */
