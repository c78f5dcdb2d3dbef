
/*
 * The head of a backend call: what of the client's request goes into it, and
 * what is the same for all.
 */


#ifndef MCP_ORIGIN_H_INCLUDED
#define MCP_ORIGIN_H_INCLUDED


#include "mcp_exchange.h"


/*
 * 1 if a header of the client, in any case, must not be passed on: of its
 * connection and representation, those replaced by our own, and the
 * session's token, which tools must not see.
 */
int mcp_origin_skips(mcp_str_t name);

/* Content-Type and Accept: they go first, before what was passed on. */
extern const mcp_header_t  mcp_origin_headers[];
extern const size_t        mcp_origin_n_headers;


#endif /* MCP_ORIGIN_H_INCLUDED */
