/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One HTTP request of a client (or of a publisher) and its answer.
 *
 * The glue creates an exchange, feeds the head and, when asked, the body, and
 * acts on what comes back; mcp_exchange_free() ends it whenever the server's
 * request ends, for whatever reason.
 */


#ifndef MCP_EXCHANGE_H_INCLUDED
#define MCP_EXCHANGE_H_INCLUDED


#include "mcp_endpoint.h"
#include "mcp_fact.h"
#include "mcp_http.h"
#include "mcp_worker.h"


/* The request's head; everything borrowed until the exchange is freed. */
typedef struct {
    mcp_str_t            method;       /* "POST" */
    const mcp_header_t  *headers;      /* all, as they came */
    size_t               n_headers;
    mcp_str_t            path;         /* may end with a publish token */
    mcp_str_t            target;       /* of the request line, as the client
                                          sent it, with its secrets */
    mcp_str_t            origin;       /* of the URLs that it uses; empty: it
                                          follows from secure, and target or
                                          Host */
    const mcp_str_t     *server_names; /* configured, see mcp_http.h */
    size_t               n_server_names;
    mcp_str_t            principal;    /* empty: none */
    mcp_str_t            address;      /* the client's, as trusted proxies say,
                                          in network order: 4 bytes or 16;
                                          empty: none, as of a Unix socket */

    /*
     * Evaluates for this request the value of rule i of the endpoint
     * (mcp_setup_allow()) or, i being their number, the scopes of its caller.
     * MCP_OK, or an error: then nobody is let in.  The text lives as long as
     * the exchange.  It is called while a head or a body is taken, at most once
     * for each i.  glue: what mcp_exchange_glue() returns.
     */
    int                (*evaluate)(void *glue, size_t i, const void *value,
                                   mcp_str_t *text);

    unsigned             loopback:1;   /* came in on a loopback address */
    unsigned             local:1;      /* the peer is this machine */
    unsigned             secure:1;     /* came in by TLS */
} mcp_head_t;


#define MCP_RESPONSE_HEADERS  10

typedef struct {
    int           status;
    mcp_str_t     content_type;        /* empty: no body */
    mcp_header_t  headers[MCP_RESPONSE_HEADERS];
    size_t        n_headers;
    mcp_str_t     body;                /* lives as long as the exchange */
} mcp_response_t;


/*
 * Returns 1 if the request is a preflight of an origin that may use the
 * endpoint (Fetch, CORS-preflight request).  It has no credentials: the glue
 * answers it, by an exchange, before anybody asks for some.
 */
int mcp_exchange_is_preflight(const mcp_endpoint_t *endpoint,
    const mcp_head_t *head);

#define MCP_CORS_HEADERS  3

/* Fills in what lets the origin of the request read an answer that no exchange
 * has given: of an access rule, of a limit.  Returns the number of headers; 0:
 * there is no Origin, or one that may not use the endpoint. */
size_t mcp_exchange_cors_headers(const mcp_endpoint_t *endpoint,
    const mcp_head_t *head, mcp_header_t headers[MCP_CORS_HEADERS]);

/* Answers a request for the document of a resource, which is public: pages of
 * any origin may read it.  The answer has the ETag; whether the client has it
 * already is the server's to find out. */
void mcp_exchange_document(const mcp_auth_t *auth, mcp_str_t method,
    mcp_response_t *response);

/* glue: given back by mcp_exchange_glue().  NULL when out of memory. */
mcp_exchange_t *mcp_exchange_create(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, void *glue);

/* The same in room of the glue's: mcp_exchange_size() bytes, aligned for
 * anything, that last as long as the exchange. */
size_t mcp_exchange_size(void);
mcp_exchange_t *mcp_exchange_create_in(void *room, mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, void *glue);

/* A request at the publish endpoint of a zone.  token: the configured static
 * token, may be empty; open: peers other than this machine are let in. */
mcp_exchange_t *mcp_exchange_create_publish(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, mcp_str_t token, int open, void *glue);

/*
 * What no log may show of a request to the endpoint: 1, and the next secret in
 * a text that is a request line, a target or a query, *rest becoming what
 * follows it; or 0.  The glue hides it wherever the server has it, before
 * anybody logs it, and keeps the target for the exchange.
 */
int mcp_exchange_secret(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
    mcp_str_t *secret);

void mcp_exchange_free(mcp_exchange_t *x);
void *mcp_exchange_glue(const mcp_exchange_t *x);

/* All of these: MCP_OK: respond now (mcp_exchange_response); MCP_DONE: stream
 * now (the same head, then pull); MCP_AGAIN: see below; MCP_ERR_MEMORY:
 * answer 500 and free. */

/* MCP_AGAIN: read the body. */
int mcp_exchange_head(mcp_exchange_t *x, const mcp_head_t *head);

/* Where the body is to be written, len bytes; NULL when out of memory. */
char *mcp_exchange_body_space(mcp_exchange_t *x, size_t len);

/*
 * The body is there, and is parsed.  This touches nothing but the exchange, so
 * that meanwhile another thread may use the worker.  Memory is taken from mem,
 * which lives as long as the exchange.  Optional: mcp_exchange_body() parses
 * what was not parsed, with the same result.
 */
void mcp_exchange_parse(mcp_exchange_t *x, size_t len, const mcp_mem_t *mem);

/* The body is there.  MCP_AGAIN: a RESPOND or STREAM action will come. */
int mcp_exchange_body(mcp_exchange_t *x, size_t len);

const mcp_response_t *mcp_exchange_response(const mcp_exchange_t *x);

/* The response has been written to the socket in full; not for streams. */
void mcp_exchange_sent(mcp_exchange_t *x);

/*
 * The next bytes of the stream.  Call it only when all it gave before is
 * written to the socket.  MCP_OK: *len bytes; MCP_AGAIN: nothing now, a PULL
 * action will come; MCP_DONE: *len (maybe 0) last bytes, end the response.
 */
#define MCP_PULL_MIN  512              /* smallest cap */

int mcp_exchange_pull(mcp_exchange_t *x, char *buf, size_t cap, size_t *len);

/* Closes the stream at will, now or as soon as its client has an event to come
 * back to (it is left alone till then).  A PULL action follows. */
void mcp_exchange_close(mcp_exchange_t *x);

/*
 * 1 if the stream, there already or to come, may go on while no backend is at
 * work on it: it listens, was resumed, may have to wait for its client's
 * answers, belongs to a batch, or no backend is at work now.
 */
int mcp_exchange_lasts(const mcp_exchange_t *x);

/* 1 if it is not known yet whether there will be a call for the client: its
 * request may be needed for one. */
int mcp_exchange_is_open(const mcp_exchange_t *x);

/* The server's request ends: what the facts are from now on is the last word,
 * for logs. */
void mcp_exchange_last(mcp_exchange_t *x);

/* What logs and maps want to know. */
const mcp_facts_t *mcp_exchange_facts(mcp_exchange_t *x);


#endif /* MCP_EXCHANGE_H_INCLUDED */
