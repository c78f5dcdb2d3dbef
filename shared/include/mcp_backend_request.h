/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A backend request: one request to a backend for one request of a call. A call
 * is detached from the client's connection and belongs to the process that runs
 * its backend requests. The glue can store a pointer to its data in each call,
 * see mcp_call_set_glue().
 */


#ifndef MCP_BACKEND_REQUEST_H_INCLUDED
#define MCP_BACKEND_REQUEST_H_INCLUDED


#include "mcp_http.h"
#include "mcp_variable.h"
#include "mcp_worker.h"


MCP_DECLARATIONS_BEGIN


/* The purpose of a backend request. */
typedef enum {
    MCP_BACKEND_REQUEST_CALL = 0,      /* a request of the call, or a step of
                                          its session at an MCP server */
    MCP_BACKEND_REQUEST_RESPONSE,      /* POSTs a JSON-RPC response to a request
                                          that an MCP server has sent. The
                                          server may need it to continue another
                                          backend request. The HTTP status is
                                          only logged. */
    MCP_BACKEND_REQUEST_LISTEN         /* a GET stream of an MCP server. It
                                          stays open while calls use it. The
                                          glue may end it at once, for example
                                          if GET streams already use half of the
                                          threads, because these calls continue
                                          without it. */
} mcp_backend_request_kind_e;


/* The HTTP method of a backend request. All but POST have no body, and are sent
 * only to MCP servers. */
typedef enum {
    MCP_BACKEND_REQUEST_POST = 0,
    MCP_BACKEND_REQUEST_GET,           /* resumes the stream of a call, or opens
                                          the GET stream of a session */
    MCP_BACKEND_REQUEST_DELETE,        /* ends a session */
    MCP_BACKEND_REQUEST_METHODS
} mcp_backend_request_method_e;


/* Why a backend request failed. */
typedef enum {
    MCP_FAILURE_NONE = 0,              /* the reply is complete */
    MCP_FAILURE_REPLY,                 /* the reply is missing or incomplete */
    MCP_FAILURE_TIMEOUT,
    MCP_FAILURE_TARGET,                /* there is no backend with the index
                                          "target" */
    MCP_FAILURE_LOCAL                  /* this server has failed, and not the
                                          backend: no memory, for example */
} mcp_failure_e;


/* One request to a backend. All fields and their strings are valid until
 * mcp_backend_request_end() returns. */
struct mcp_backend_request_s {
    mcp_queued_action_t  queued;
    mcp_call_t          *call;
    unsigned             request;      /* index of the call's request for which
                                          this backend request is made */
    unsigned             target;       /* index of the target in the endpoint's
                                          targets */
    mcp_str_t            body;         /* JSON-RPC message to POST to the
                                          backend; empty for other HTTP
                                          methods */
    mcp_variables_t      variables;
    const mcp_header_t  *headers;      /* headers that replace the client's
                                          headers with the same names, in any
                                          case */
    size_t               n_headers;
    void                *glue;         /* for the glue's own use */
    unsigned             prepared:1;   /* 1 after MCP_ACT_PREPARE was pulled */
    unsigned             started:1;    /* 1 after MCP_ACT_INVOKE was pulled */
    unsigned             rebuilt:1;    /* 1: body is freed with this backend
                                          request, even while mcp_call_retain()
                                          keeps the call */
    unsigned             aborted:1;    /* 1 after MCP_ACT_ABORT was queued */
    unsigned             bare:1;       /* 1: the backend gets only the Host
                                          header of the client's request, not
                                          its other headers, its query or its
                                          user, because the backend request is
                                          not made for this client */
    unsigned             urgent:1;     /* 1: takes little time, and lets a call
                                          continue or end. The glue starts it
                                          before other backend requests, and
                                          keeps a thread and a connection to the
                                          backend free for it. */
    unsigned             unsent:1;     /* set by the glue: 1 while the backend
                                          request waits in the glue, so that the
                                          backend has received nothing */
    unsigned             asks:1;       /* 1: may end only after an urgent
                                          backend request to the same MCP
                                          server, because the server may ask,
                                          and wait for the response. Such
                                          backend requests must not use all
                                          threads or connections. */
    mcp_backend_request_kind_e    kind;
    mcp_backend_request_method_e  http_method;
};


/* Set and return the glue's own pointer in a call. The action MCP_ACT_FORGET
 * passes the pointer to the glue when the call is over. */
void  mcp_call_set_glue(mcp_call_t *call, void *glue);
void *mcp_call_glue(const mcp_call_t *call);

/*
 * Retains and releases the memory of a call. While a call is retained,
 * breq->body (unless "rebuilt" is set), breq->variables and breq->headers stay
 * valid after the backend request has ended. Each mcp_call_retain() needs one
 * mcp_call_release().
 */
void mcp_call_retain(mcp_call_t *call);
void mcp_call_release(mcp_call_t *call);

/* Returns the arguments of the tool or prompt as raw JSON, empty if there are
 * none. Valid while the call is retained. */
mcp_str_t mcp_backend_request_arguments(const mcp_backend_request_t *breq);

/* Returns 1 if no other backend request follows breq for the same request of
 * the call, because that request has ended or waits for a published response.
 * Valid while the call is retained. */
int mcp_backend_request_is_last(const mcp_backend_request_t *breq);

/* Returns the tenant of the call, MCP_DIGEST_LEN bytes, or NULL if
 * mcp_quota_streams is not "share" or the call has no tenant. Valid while the
 * call is retained. */
const unsigned char *mcp_backend_request_tenant(
    const mcp_backend_request_t *breq);

/* Returns 1 if this is the first backend request of its call, so that
 * mcp_backend_request_refuse() can still reject the call. */
int mcp_backend_request_is_first(const mcp_backend_request_t *breq);

/* Rejects the call of a backend request that was pulled but not started,
 * because the call's tenant has used its share of a resource of the glue, such
 * as threads. Ends the backend request. detail is static text for the log. */
void mcp_backend_request_refuse(mcp_backend_request_t *breq,
    const char *detail);

/* Passes the value of the backend's Retry-After header, if there is one, to the
 * core. To be called before mcp_backend_request_head(). */
void mcp_backend_request_retry_after(mcp_backend_request_t *breq,
    mcp_str_t value);

/* Name of the response header that contains the id of a session at an MCP
 * server. */
#define MCP_BACKEND_REQUEST_SESSION  "Mcp-Session-Id"

/* Passes the value of Mcp-Session-Id in the backend's reply, if there is one,
 * to the core. To be called before mcp_backend_request_head(). */
void mcp_backend_request_session(mcp_backend_request_t *breq,
    mcp_str_t value);

/* Passes the status and the Content-Type of the backend's reply to the core. To
 * be called once. */
void mcp_backend_request_head(mcp_backend_request_t *breq, int status,
    mcp_str_t content_type);

/* Passes bytes of the reply's body to the core. Returns the number of bytes
 * that were accepted. If that is less than len, stop reading from the backend
 * and pass the rest again after MCP_ACT_RESUME. */
size_t mcp_backend_request_data(mcp_backend_request_t *breq, const char *data,
    size_t len);

/* Ends a backend request; to be called exactly once for each one that was
 * pulled. detail is static text for the log, and may be NULL. Frees breq. */
void mcp_backend_request_end(mcp_backend_request_t *breq,
    mcp_failure_e failure, const char *detail);


MCP_DECLARATIONS_END


#endif /* MCP_BACKEND_REQUEST_H_INCLUDED */
