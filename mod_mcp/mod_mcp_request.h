/* SPDX-License-Identifier: Apache-2.0 */

/* The data that this module stores for each request. */

#ifndef MOD_MCP_REQUEST_H
#define MOD_MCP_REQUEST_H

#include "mod_mcp.h"

#include "mcp_exchange.h"

typedef struct {
    mod_mcp_backend_request_t *req;     /* backend request for which this
                                           request was made, or NULL */
    const char *target;                 /* target as the client sent it, if it
                                           contained secrets; else NULL */
    const char *handler;                /* handler of the request's <Location>,
                                           if it works without a file on disk;
                                           else NULL */
    const mcp_auth_t *document;         /* resource whose metadata document
                                         * the request fetches, or NULL */
    unsigned secure:1;                  /* 1 if received over TLS */
    unsigned error_headers:1;           /* 1 after mod_mcp_error_headers.c has
                                           added its headers */
    unsigned verified:1;                /* 1 if the client has a verified
                                           certificate */
    unsigned fileless:1;                /* 1 if the request is not mapped to a
                                         * file, see mod_mcp_map.c */
    unsigned has_script:1;              /* 1 if the handler names the script of
                                         * a FastCGI program */
} mod_mcp_request_t;

/* Returns the module's data of a request; creates it on first use. */
mod_mcp_request_t *mod_mcp_request(request_rec *r);

/* Returns the handler that SetHandler is going to set, or NULL. */
const char *mod_mcp_request_handler(request_rec *r);

/*
 * Returns the header lines whose names begin with the lower-case letter
 * "initial" or its upper-case form.  Returns all lines if "initial" is '\0'. *n
 * is their number.  The array is in the request's pool.
 */
const mcp_header_t *mod_mcp_request_headers(request_rec *r, char initial,
                                            size_t *n);

/*
 * Returns the configured names of the request's server, in the request's pool;
 * *n is their number.
 */
const mcp_str_t *mod_mcp_request_server_names(request_rec *r, size_t *n);

/*
 * Sets the members of *head that the check of Origin needs: header lines,
 * method, target, path, server names and connection.
 */
void mod_mcp_request_head(request_rec *r, mcp_head_t *head);

#endif /* MOD_MCP_REQUEST_H */
