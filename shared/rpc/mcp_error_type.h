/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Classes of errors for metrics: the values of error.type in OpenTelemetry's
 * conventions for MCP. Their number is fixed, because each one may need its own
 * time series.
 */


#ifndef MCP_ERROR_TYPE_H_INCLUDED
#define MCP_ERROR_TYPE_H_INCLUDED


#include "mcp.h"


/* The zone contains these numbers, so the number of a class never changes. */
typedef enum {
    MCP_ERROR_TYPE_NONE = 0,           /* the request was successful */
    MCP_ERROR_TYPE_OTHER,              /* an error that has no other value */
    MCP_ERROR_TYPE_TOOL,               /* a tool's result with isError */
    MCP_ERROR_TYPE_CANCELLED,          /* no response: the call was
                                          cancelled */
    MCP_ERROR_TYPE_EXPIRED,            /* no response: no client resumed the
                                          call in time */
    MCP_ERROR_TYPE_CODES,              /* number of the first JSON-RPC code in
                                          the table of mcp_error_type.c; the
                                          other codes have the following
                                          numbers */
    MCP_ERROR_TYPE_COUNT = 32          /* all numbers are less than this one */
} mcp_error_type_e;


/* Returns the class of an error response with this JSON-RPC code: NONE for 0,
 * OTHER for a code that the table does not have. */
mcp_error_type_e mcp_error_type_of_code(int64_t code);

/* Returns the value of error.type; empty for NONE and for numbers that no class
 * has. */
mcp_str_t mcp_error_type_name(unsigned type);


#endif /* MCP_ERROR_TYPE_H_INCLUDED */
