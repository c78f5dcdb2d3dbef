/* SPDX-License-Identifier: Apache-2.0 */

/* What the module keeps of a request. */

#ifndef MOD_MCP_REQUEST_H
#define MOD_MCP_REQUEST_H

#include "mod_mcp.h"

#include "mcp_exchange.h"

typedef struct {
    mod_mcp_run_t *run;                 /* the run that made it, or NULL */
    const char *target;                 /* as it came, if it had secrets */
    const char *handler;                /* handler of its <Location>, if that
                                         * needs no file; else NULL */
    const mcp_auth_t *document;         /* resource whose metadata document
                                         * the request fetches, or NULL */
    unsigned secure:1;                  /* over TLS */
    unsigned guarded:1;                 /* mod_mcp_guard.c has been there */
    unsigned verified:1;                /* with a certificate of the client's */
    unsigned fileless:1;                /* 1 if no file answers it, see
                                         * mod_mcp_map.c */
    unsigned has_script:1;              /* 1 if the handler names the script of
                                         * a FastCGI program */
} mod_mcp_request_t;

/* Made when it is first needed. */
mod_mcp_request_t *mod_mcp_request(request_rec *r);

/* The handler that SetHandler will set, or NULL. */
const char *mod_mcp_request_handler(request_rec *r);

/* The lines of the head, in the request's pool: those whose names begin with a
 * letter, given in its small form; '\0': all. */
const mcp_header_t *mod_mcp_request_headers(request_rec *r, char initial,
                                            size_t *n);

/* The configured names of the request's server, in the request's pool. */
const mcp_str_t *mod_mcp_request_server_names(request_rec *r, size_t *n);

/* So much of the head as its Origin is judged by. */
void mod_mcp_request_head(request_rec *r, mcp_head_t *head);

#endif /* MOD_MCP_REQUEST_H */
