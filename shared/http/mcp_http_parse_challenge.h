/* SPDX-License-Identifier: Apache-2.0 */

/* The Bearer challenge in WWW-Authenticate. */


#ifndef MCP_HTTP_PARSE_CHALLENGE_H_INCLUDED
#define MCP_HTTP_PARSE_CHALLENGE_H_INCLUDED


#include "mcp_http.h"


/* The position of the Bearer challenge in the value of WWW-Authenticate, and
 * the parameters that it has. */
typedef struct {
    size_t    end;             /* offset in the line of the byte after the
                                  challenge */
    unsigned  params:1;        /* 1: the challenge has parameters */
    unsigned  metadata:1;      /* 1: the challenge has resource_metadata */
    unsigned  scope:1;         /* 1: the challenge has scope */
    unsigned  error:1;         /* 1: the challenge has error */
} mcp_http_challenge_t;


/*
 * Finds a Bearer challenge in the value of WWW-Authenticate, a list that may
 * have other challenges before and after it (RFC 9110, 11.6.1; RFC 6750, 3).
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no Bearer challenge
 *   MCP_ERR_SYNTAX     the line is not a list of challenges, or its Bearer
 *                      challenge has a token in place of parameters
 */
int mcp_http_bearer(mcp_str_t line, mcp_http_challenge_t *challenge);


#endif /* MCP_HTTP_PARSE_CHALLENGE_H_INCLUDED */
