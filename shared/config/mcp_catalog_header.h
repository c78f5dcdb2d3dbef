/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Headers Mcp-Param-*, which repeat arguments of a call (2026-07-28,
 * basic/transports/streamable-http, "Custom Headers from Tool Parameters").
 * Finds these arguments in a call, and writes the headers for a backend.
 */


#ifndef MCP_CATALOG_HEADER_H_INCLUDED
#define MCP_CATALOG_HEADER_H_INCLUDED


#include "mcp_http.h"
#include "base/mcp_arena.h"
#include "config/mcp_catalog.h"


#define mcp_tool_param_prefix  mcp_str("Mcp-Param-")

/* Maximum total size of the names and values of a request's Mcp-Param-*
 * headers, bytes. */
#define MCP_TOOL_PARAMS_SIZE  (64 * 1024)


/* The arguments of a call that the headers of its tool repeat: values[i] is the
 * argument that headers[i] repeats. */
typedef struct {
    const mcp_catalog_header_t  *headers;
    size_t                       n;
    mcp_json_value_t             values[MCP_CATALOG_HEADERS_MAX];
    uint64_t                     ambiguous;    /* bit i: JSON parsers may differ
                                                  about the value of argument
                                                  i */
} mcp_tool_params_t;

_Static_assert(MCP_CATALOG_HEADERS_MAX <= 64, "one bit for each header");


/* Finds the arguments that n headers repeat in the object of a call's
 * arguments. n is at least 1; the object may be missing. */
void mcp_tool_params_read(mcp_tool_params_t *params,
    const mcp_catalog_header_t *headers, size_t n,
    const mcp_json_value_t *arguments);

/* Returns the character in the name of the variable $mcp_param_... for a
 * character in a header's name: letters in lower case, "_" for "-". */
char mcp_tool_param_char(char c);

/* Returns 1 if two names of headers, without "Mcp-Param-", have the same
 * variable $mcp_param_...: upper and lower case are equal, and so are "-" and
 * "_". */
int mcp_tool_param_alike(mcp_str_t a, mcp_str_t b);

/* Sets *out to the complete name of a header, in the arena. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
int mcp_tool_param_name(mcp_arena_t *arena, const mcp_catalog_header_t *header,
    mcp_str_t *out);

/*
 * Sets *out to the Mcp-Param-* headers of a call, in the arena, and *n to their
 * number. Omits the header of an argument that is absent, null, an object or an
 * array.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  an argument is ambiguous: *out is the header of this
 *                   argument, without a value, and *n is 1
 *   MCP_ERR_LIMIT   the headers are longer than MCP_TOOL_PARAMS_SIZE
 *   MCP_ERR_MEMORY
 */
int mcp_tool_params_write(const mcp_tool_params_t *params, mcp_arena_t *arena,
    const mcp_header_t **out, size_t *n);


#endif /* MCP_CATALOG_HEADER_H_INCLUDED */
