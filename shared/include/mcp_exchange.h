/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One HTTP request of a client or of a publisher, and its response. The glue
 * creates an exchange, passes the head and, if requested, the body, and acts on
 * the result. It calls mcp_exchange_free() when the server's request ends for
 * any reason.
 */


#ifndef MCP_EXCHANGE_H_INCLUDED
#define MCP_EXCHANGE_H_INCLUDED


#include "mcp_endpoint.h"
#include "mcp_variable.h"
#include "mcp_http.h"
#include "mcp_worker.h"


MCP_DECLARATIONS_BEGIN


/* The head of the request. All strings are borrowed until the exchange is
 * freed. */
typedef struct {
    mcp_str_t            method;       /* HTTP method, such as "POST" */
    const mcp_header_t  *headers;      /* all headers in their original order */
    size_t               n_headers;
    mcp_str_t            path;         /* path of the URI; at the publish
                                          endpoint it may end with a token */
    mcp_str_t            target;       /* target of the request line as the
                                          client sent it, including secrets */
    mcp_str_t            origin;       /* origin for the URLs that the response
                                          contains; empty: derived from "secure"
                                          and from the target or Host */
    const mcp_str_t     *server_names; /* configured names of the server, see
                                          mcp_http.h */
    size_t               n_server_names;
    mcp_str_t            principal;    /* authenticated principal; empty:
                                          none */
    mcp_str_t            address;      /* address of the client according to
                                          trusted proxies, 4 or 16 bytes in
                                          network order; empty: none, as for a
                                          Unix socket */

    /* Evaluates an expression of the configuration for this request. If i is
     * below the endpoint's number of access rules, "value" is the expression of
     * rule i, see mcp_setup_allow(). If i equals this number, "value" is the
     * expression for the scopes of the caller. Sets *text, which is valid as
     * long as the exchange, and returns MCP_OK. Any other result denies access.
     * Called while a head or body is processed, at most once for each i. "glue"
     * is the value of mcp_exchange_glue(). */
    int                (*evaluate)(void *glue, size_t i, const void *value,
                                   mcp_str_t *text);

    unsigned             loopback:1;   /* 1 if the request arrived at a loopback
                                          address */
    unsigned             local:1;      /* 1 if the peer of the connection is on
                                          this machine */
    unsigned             secure:1;     /* 1 if the request arrived by TLS */
} mcp_head_t;


#define MCP_RESPONSE_HEADERS  10

typedef struct {
    int           status;
    mcp_str_t     content_type;        /* media type of the body; empty: there
                                          is no body */
    mcp_header_t  headers[MCP_RESPONSE_HEADERS];
    size_t        n_headers;
    mcp_str_t     body;                /* valid as long as the exchange */
} mcp_response_t;


/* Returns 1 if the request is a preflight from an origin that may use the
 * endpoint (Fetch, CORS-preflight request). A preflight has no credentials, so
 * the glue answers it with an exchange before any access check. */
int mcp_exchange_is_preflight(const mcp_endpoint_t *endpoint,
    const mcp_head_t *head);

#define MCP_CORS_HEADERS  3

/*
 * Fills in the headers that let the origin of the request read a response that
 * does not come from an exchange, such as an error of an access rule or a
 * limit. Returns the number of headers, 0 if there is no Origin header or that
 * origin may not use the endpoint.
 */
size_t mcp_exchange_cors_headers(const mcp_endpoint_t *endpoint,
    const mcp_head_t *head, mcp_header_t headers[MCP_CORS_HEADERS]);

/* Responds to a request for the metadata document of an OAuth resource
 * (mcp_auth.h), which pages of any origin may read. The response has an ETag
 * header; the server handles conditional requests. */
void mcp_exchange_document(const mcp_auth_t *auth, mcp_str_t method,
    mcp_response_t *response);

/* Creates an exchange. mcp_exchange_glue() returns glue. Returns NULL when out
 * of memory. */
mcp_exchange_t *mcp_exchange_create(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, void *glue);

/* mcp_exchange_create_in() creates an exchange in memory of the glue, "room".
 * This memory must have mcp_exchange_size() bytes, be aligned for any type, and
 * stay valid as long as the exchange. */
size_t mcp_exchange_size(void);
mcp_exchange_t *mcp_exchange_create_in(void *room, mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, void *glue);

/* Creates an exchange for a request at the publish endpoint of a zone. token
 * is the configured static token, which may be empty. If open is 1, requests
 * from other machines are accepted. */
mcp_exchange_t *mcp_exchange_create_publish(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, mcp_str_t token, int open, void *glue);

/*
 * Finds the next secret in *rest, a request line, target or query of a request
 * to the endpoint. Returns 1, sets *secret, and advances *rest past it; returns
 * 0 if there is none. The glue hides these secrets from the server's logs and
 * keeps the original target for the exchange.
 */
int mcp_exchange_secret(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
    mcp_str_t *secret);

void mcp_exchange_free(mcp_exchange_t *x);
void *mcp_exchange_glue(const mcp_exchange_t *x);

/* The next step of a request. */
typedef enum {
    MCP_NEXT_BODY = 0,         /* read the body, then call
                                  mcp_exchange_body() */
    MCP_NEXT_WAIT,             /* wait for the action RESPOND or STREAM, because
                                  the response is not available yet */
    MCP_NEXT_RESPOND,          /* send mcp_exchange_response() */
    MCP_NEXT_STREAM,           /* send the head of mcp_exchange_response(), then
                                  pull the stream */
    MCP_NEXT_CONTINUE,         /* used by functions of the core only: the caller
                                  continues to process the request */
    MCP_NEXT_ERROR             /* answer 500 and free the exchange, because of
                                  an internal error, such as a lack of
                                  memory */
} mcp_next_e;

/* Processes the head. Returns MCP_NEXT_BODY, MCP_NEXT_RESPOND, MCP_NEXT_STREAM
 * or MCP_NEXT_ERROR. */
mcp_next_e mcp_exchange_head(mcp_exchange_t *x, const mcp_head_t *head);

/* Returns memory for a body of len bytes, or NULL when out of memory. */
char *mcp_exchange_body_space(mcp_exchange_t *x, size_t len);

/*
 * Parses the body, len bytes in the memory of mcp_exchange_body_space().
 * Accesses no data but the exchange, so another thread may use the worker at
 * the same time. Takes memory from mem, which must outlive the exchange.
 * Optional: mcp_exchange_body() parses a body that has not been parsed.
 */
void mcp_exchange_parse(mcp_exchange_t *x, size_t len, const mcp_mem_t *mem);

/* Processes the body. Returns MCP_NEXT_WAIT, MCP_NEXT_RESPOND, MCP_NEXT_STREAM
 * or MCP_NEXT_ERROR. */
mcp_next_e mcp_exchange_body(mcp_exchange_t *x, size_t len);

const mcp_response_t *mcp_exchange_response(const mcp_exchange_t *x);

/* Reports that the whole response was written to the socket. Not for
 * streams. */
void mcp_exchange_sent(mcp_exchange_t *x);

/*
 * Returns the next bytes of the stream in buf and their number in *len. To be
 * called when all earlier bytes have been written to the socket.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN  there are no bytes now; a PULL action follows
 *   MCP_DONE   these are the last bytes, possibly none: end the response
 */
#define MCP_PULL_MIN  512              /* minimum size of buf */

int mcp_exchange_pull(mcp_exchange_t *x, char *buf, size_t cap, size_t *len);

/* Closes the stream before its end: now, or as soon as the client has an event
 * id with which it can resume. A PULL action follows. */
void mcp_exchange_close(mcp_exchange_t *x);

/* Returns 1 if the stream may last while no backend request of its call runs:
 * it is the stream of a listener or of a batch, it was resumed, its call may
 * wait for answers of the client or send several requests to an MCP server, or
 * no backend request runs at present. */
int mcp_exchange_lasts(const mcp_exchange_t *x);

/* Returns 1 if the stream may end while a backend request of its call still
 * runs. A thread that runs the backend request cannot then serve the next
 * request on the client's connection. */
int mcp_exchange_ends_first(const mcp_exchange_t *x);

/* Returns 1 if the request may still lead to a call, or if its call has not
 * started its first backend request. That backend request may need the web
 * server's request structure, which must therefore be kept. */
int mcp_exchange_is_open(const mcp_exchange_t *x);

/* Notifies the exchange that the server's request ends: later changes no
 * longer affect mcp_exchange_variables(), so that all logs contain the same
 * values. */
void mcp_exchange_last(mcp_exchange_t *x);

/* Returns the variables of the request, for logs and for the configuration. */
const mcp_variables_t *mcp_exchange_variables(mcp_exchange_t *x);


MCP_DECLARATIONS_END


#endif /* MCP_EXCHANGE_H_INCLUDED */
