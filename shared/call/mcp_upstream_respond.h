/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Responses to requests of an MCP server. Each one is POSTed in the session of
 * the MCP server, while the client's request is still running there
 * (2025-11-25, basic/transports, "Sending Messages to the Server"). The MCP
 * server replies to the POST with status 202 and no body.
 *
 * A POST is sent a second time if its connection fails, for example because the
 * server has closed a keep-alive connection in the meantime. Unlike a call, a
 * response may reach the server twice, because the server ignores a response to
 * a request that has a response already.
 */


#ifndef MCP_UPSTREAM_RESPOND_H_INCLUDED
#define MCP_UPSTREAM_RESPOND_H_INCLUDED


#include "call/mcp_call.h"


/*
 * Maximum number of POSTs of one call that run at the same time. Further ones
 * wait until a POST ends.
 *
 * While MCP_UPSTREAM_POSTS_WAITING or more are waiting, the call does not
 * respond to pings, and holds other requests of the server. So no more POSTs
 * wait than this number, and one for each question that was open already.
 */
#define MCP_UPSTREAM_POSTS          32
#define MCP_UPSTREAM_POSTS_WAITING  32

/* Maximum duration of one attempt to send a POST, ms. */
#define MCP_UPSTREAM_POST_TIME      10000


struct mcp_upstream_post_s {
    mcp_backend_request_t  breq;
    mcp_buf_t              body;
    int                    status;     /* HTTP status of the server's reply; 0:
                                          none yet */
    unsigned               repeated:1; /* 1: this is the second attempt */
    uint64_t               deadline;   /* when the attempt times out, ms */
    mcp_upstream_post_t   *next;       /* next POST in call->posts,
                                          call->waiting_posts or
                                          call->idle_posts */
};


/*
 * Sends the response to the server's request with the JSON-RPC id "id", raw
 * JSON. key is "result" or "error" with its quotation marks, value is raw JSON.
 * "of" is a backend request in the same session, whose call sends the POST with
 * the variables of this backend request. Drops the response when out of memory.
 */
void mcp_upstream_post(const mcp_backend_request_t *of, mcp_str_t id,
    mcp_str_t key, mcp_str_t value);

/* Sends the response to a ping. Drops it if too many POSTs are waiting. */
void mcp_upstream_post_pong(const mcp_backend_request_t *of, mcp_str_t id);

/* Sends an error as the response to the server's request with the JSON-RPC id
 * "id". "message" is text without characters that JSON has to escape. */
void mcp_upstream_post_error(const mcp_backend_request_t *of, mcp_str_t id,
    int code, mcp_str_t message);

/* Returns 1 if MCP_UPSTREAM_POSTS_WAITING POSTs of a call, or more, are
 * waiting. */
int mcp_upstream_post_is_full(const mcp_call_t *call);

/* Does the same as mcp_backend_request_head() and mcp_backend_request_end(),
 * for the backend request of a POST. */
void mcp_upstream_post_head(mcp_backend_request_t *breq, int status);
void mcp_upstream_post_end(mcp_backend_request_t *breq, mcp_fault_e fault,
    const char *detail);

/* Returns when the next POST of the call times out, ms, or UINT64_MAX if none
 * is running. */
uint64_t mcp_upstream_post_due(const mcp_call_t *call);

/* Aborts the POSTs that have timed out at the time now, ms. */
void mcp_upstream_post_timer(mcp_call_t *call, uint64_t now);


#endif /* MCP_UPSTREAM_RESPOND_H_INCLUDED */
