/* SPDX-License-Identifier: Apache-2.0 */

/* The Bearer challenge among those of WWW-Authenticate. */


#ifndef MCP_HTTP_CHALLENGE_H_INCLUDED
#define MCP_HTTP_CHALLENGE_H_INCLUDED


#include "mcp_http.h"


/* Offsets are in the line that was read. */
typedef struct {
    size_t    end;             /* behind the challenge's last character */
    unsigned  params:1;        /* it has parameters */
    unsigned  metadata:1;      /* resource_metadata among them */
    unsigned  scope:1;
    unsigned  error:1;
} mcp_http_challenge_t;


/*
 * Looks for a Bearer challenge in the value of WWW-Authenticate, a list that
 * may have others before and behind it (RFC 9110, 11.6.1; RFC 6750, 3).
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is none
 *   MCP_ERR_SYNTAX     the line is no list of challenges, or its Bearer
 *                      challenge has a token where parameters stand
 */
int mcp_http_bearer(mcp_str_t line, mcp_http_challenge_t *challenge);


#endif /* MCP_HTTP_CHALLENGE_H_INCLUDED */
