/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table of all errors of the server that a client can receive (HTTP
 * status, JSON-RPC code and text), and error responses with an error from a
 * backend.
 */


#ifndef MCP_FAULT_H_INCLUDED
#define MCP_FAULT_H_INCLUDED


#include "mcp_buf.h"
#include "json/mcp_json_scan.h"
#include "rpc/mcp_revision.h"


/* an error of the server or of a backend (JSON-RPC 2.0, 5.1) */
#define MCP_CODE_INTERNAL  -32603


typedef enum {
    MCP_FAULT_NONE = 0,

    /* HTTP level */
    MCP_FAULT_METHOD_NOT_ALLOWED,      /* 405 */
    MCP_FAULT_NOT_ACCEPTABLE,          /* 406 */
    MCP_FAULT_MEDIA_TYPE,              /* 415 */
    MCP_FAULT_BODY_TOO_LARGE,          /* 413 */
    MCP_FAULT_ORIGIN,                  /* 403 */
    MCP_FAULT_REVISION,                /* 400, MCP-Protocol-Version is not
                                          supported */
    MCP_FAULT_SESSION_ABSENT,          /* 400 */
    MCP_FAULT_SESSION_UNKNOWN,         /* 404 */
    MCP_FAULT_EVENT_ID_MALFORMED,      /* 400 */
    MCP_FAULT_EVENT_ID_UNKNOWN,        /* 404 */
    MCP_FAULT_EVENT_PURGED,            /* 404, events after Last-Event-ID were
                                          dropped */
    MCP_FAULT_LINK,                    /* 404, the stream URL is invalid, for
                                          any reason */
    MCP_FAULT_LINK_INPUT,              /* 400, stream URL: the body is not an
                                          array of responses */
    MCP_FAULT_LINK_ANSWERS,            /* 400, stream URL: more answers than
                                          open requests */
    MCP_FAULT_STORE_FULL,              /* 503 */
    MCP_FAULT_CLUSTER_UNREACHABLE,     /* 503, Redis or another node, which the
                                          request needs, is unreachable or
                                          cannot be used at present */
    MCP_FAULT_UPSTREAM_DOWN,           /* 503, the MCP server that is the
                                          backend has not described itself */
    MCP_FAULT_TOO_MANY_STREAMS,        /* 429 */
    MCP_FAULT_TOO_MANY_VALUES,         /* 429, the tenant's quota of values
                                          (stored settings, used tokens) is
                                          exhausted */
    MCP_FAULT_FORBIDDEN,               /* 403, publish endpoint: the request is
                                          not authorized; other requests: the
                                          principal has control characters */
    MCP_FAULT_SCOPE,                   /* 403, the caller's token lacks a
                                          scope */
    MCP_FAULT_CALL_UNKNOWN,            /* 404, publish endpoint: the call does
                                          not exist any more */
    MCP_FAULT_CALL_EARLY,              /* 503, publish endpoint: the call
                                          has not become a stream yet */
    MCP_FAULT_BAD_REQUEST,             /* 400 */
    MCP_FAULT_HEADER,                  /* 400 -32020, a header differs from
                                          the body */
    MCP_FAULT_CAPABILITY,              /* 400 -32021, a capability is not
                                          declared */
    MCP_FAULT_VERSION,                 /* 400 -32022, the revision is not
                                          supported */
    MCP_FAULT_ENVELOPE,                /* 400 -32602, _meta of a request is
                                          invalid */
    MCP_FAULT_ERA,                     /* 400, the endpoint has no revision
                                          with sessions */

    /* errors about invalid messages and requests, with these JSON-RPC codes */
    MCP_FAULT_PARSE,                   /* -32700 */
    MCP_FAULT_TOO_DEEP,                /* -32700 */
    MCP_FAULT_INVALID_REQUEST,         /* -32600 */
    MCP_FAULT_BATCH,                   /* -32600, the revision has no
                                          batches */
    MCP_FAULT_BATCH_SIZE,              /* -32600 */
    MCP_FAULT_ID,                      /* -32600, an id that is null, has a
                                          fraction or is too long */
    MCP_FAULT_METHOD_UNKNOWN,          /* -32601 */
    MCP_FAULT_PARAMS,                  /* -32602 */
    MCP_FAULT_TOOL_UNKNOWN,            /* -32602 */
    MCP_FAULT_PROMPT_UNKNOWN,          /* -32602 */
    MCP_FAULT_RESOURCE_UNKNOWN,        /* -32002 */
    MCP_FAULT_CURSOR,                  /* -32602 */
    MCP_FAULT_LOG_LEVEL,               /* -32602 */
    MCP_FAULT_REQUEST_STATE,           /* -32602, requestState is invalid, for
                                          any reason */
    MCP_FAULT_RESUME_TOKEN,            /* -32602, the resume token is invalid,
                                          for any reason */
    MCP_FAULT_RESUME_PURGED,           /* -32602, events after the token's
                                          position were dropped */
    MCP_FAULT_RESUME_BATCH,            /* -32600, a batch contains a request
                                          whose response is a stream */
    MCP_FAULT_TASK,                    /* -32602, the task id is invalid, for
                                          any reason */

    /* errors of the server or of a backend */
    MCP_FAULT_BACKEND_FAILED,          /* -32603, connection refused or
                                          closed early */
    MCP_FAULT_BACKEND_TIMEOUT,         /* -32603 */
    MCP_FAULT_BACKEND_OUTPUT,          /* -32603, the output of a backend
                                          violates docs/backends.md */
    MCP_FAULT_BACKEND_TOO_LARGE,       /* -32603 */
    MCP_FAULT_NO_BACKEND,              /* -32603 */
    MCP_FAULT_UPSTREAM_STATUS,         /* -32603, an upstream's HTTP error */
    MCP_FAULT_UPSTREAM_AUTH,           /* -32603, HTTP 401 or 403 of an
                                          upstream */
    MCP_FAULT_UPSTREAM_HOST,           /* -32603, an upstream does not accept
                                          Host or Origin */
    MCP_FAULT_UPSTREAM_VERSION,        /* -32603, an upstream does not serve
                                          the revision */
    MCP_FAULT_UPSTREAM_SESSION,        /* -32603, the request got no session at
                                          an upstream, or the upstream rejected
                                          a new session */
    MCP_FAULT_CALL_FULL,               /* -32603, no space for the stream */
    MCP_FAULT_CALL_LIMIT,              /* -32603, the tenant's quota is
                                          exhausted */
    MCP_FAULT_OWNER_DIED,              /* -32603, the owner's process ended */
    MCP_FAULT_JOINED,                  /* -32603, the call that the request
                                          joined ended without a response */
    MCP_FAULT_INTERNAL,                /* -32603, HTTP 500 */

    MCP_FAULT_COUNT
} mcp_fault_e;


typedef struct {
    int          status;       /* HTTP status of the error response; without
                                  effect in a stream that has begun */
    int          code;         /* JSON-RPC code */
} mcp_fault_code_t;


typedef struct {
    mcp_fault_code_t  session;         /* status and code in revisions with
                                          sessions */
    mcp_fault_code_t  stateless;       /* status and code in stateless
                                          revisions */
    const char       *message;
} mcp_fault_t;


/* Returns 1 if the fault is an error of an MCP server that is the backend. */
#define mcp_fault_is_upstream(fault)                                          \
    ((fault) >= MCP_FAULT_UPSTREAM_STATUS                                     \
     && (fault) <= MCP_FAULT_UPSTREAM_SESSION)

/* Returns the row of a fault, never NULL. */
const mcp_fault_t *mcp_fault(mcp_fault_e fault);

/*
 * Returns status and code of a fault in a revision. MCP_REVISION_NONE, for an
 * unknown client, counts as a revision with sessions.
 */
const mcp_fault_code_t *mcp_fault_code(mcp_fault_e fault,
    mcp_revision_e revision);

/*
 * Appends {"jsonrpc":"2.0","id":ID,"error":{...}}.
 *
 * revision is the client's, see mcp_fault_code(). id is raw JSON; an empty id
 * is omitted, because the schemas of 2025-11-25 and later have no null id. A
 * detail that is not empty is appended to the message after ": ". data that is
 * not empty is raw JSON, and replaces the fault's own error.data.
 */
void mcp_fault_write(mcp_buf_t *buf, mcp_revision_e revision, mcp_str_t id,
    mcp_fault_e fault, mcp_str_t detail, mcp_str_t data);


/* --- errors of backends --- */

/* The code of a request that lacks a capability (2026-07-28, schema,
 * MissingRequiredClientCapabilityError). */
#define MCP_CODE_CAPABILITY  -32021


/*
 * Returns the code of an error object; 0 if the code is not an integer or
 * exceeds INT32_MAX.
 */
int64_t mcp_error_code(const mcp_json_value_t *error);

/*
 * Appends a complete error response. error is an object of valid JSON with an
 * integer "code".
 *
 * For a stateless revision, the codes from -32000 to -32099 are replaced,
 * except MCP_CODE_CAPABILITY (2026-07-28, basic/index, "Error Codes"). -32002
 * becomes -32602; if uri is not empty and the error has no data, error.data
 * becomes {"uri":uri}. The other codes become -32603.
 *
 * Returns the code that was written.
 */
int64_t mcp_error_write(mcp_buf_t *out, mcp_revision_e revision, mcp_str_t id,
    mcp_str_t error, mcp_str_t uri);


/* --- classes of errors --- */

/*
 * Classes of errors for metrics: the values of error.type in OpenTelemetry's
 * conventions for MCP. Their number is fixed, because each one may need its own
 * time series.
 */

/* The zone contains these numbers, so the number of a class never changes. */
typedef enum {
    MCP_ERROR_TYPE_NONE = 0,           /* the request was successful */
    MCP_ERROR_TYPE_OTHER,              /* an error that has no other value */
    MCP_ERROR_TYPE_TOOL,               /* a tool's result with isError */
    MCP_ERROR_TYPE_CANCELLED,          /* no response: the call was
                                          cancelled */
    MCP_ERROR_TYPE_EXPIRED,            /* no response: no client resumed the
                                          call in time */
    MCP_ERROR_TYPE_CODES,              /* number of the first JSON-RPC code in
                                          the table of mcp_fault.c; the
                                          other codes have the following
                                          numbers */
    MCP_ERROR_TYPE_COUNT = 32          /* all numbers are less than this one */
} mcp_error_type_e;


/* Returns the class of an error response with this JSON-RPC code: NONE for 0,
 * OTHER for a code that the table does not have. */
mcp_error_type_e mcp_error_type_of_code(int64_t code);

/* Returns the value of error.type; empty for NONE and for numbers that no class
 * has. */
mcp_str_t mcp_error_type_name(unsigned type);


/* --- reasons for the operator --- */

/*
 * The table of reasons why calls fail, with remedies for the operator: for the
 * status page, the log and the manual.
 */


/* The zone contains these numbers, so new reasons are added at the end. */
typedef enum {
    MCP_REASON_NONE = 0,
    MCP_REASON_TOOL_ERROR,             /* the tool reported an error */
    MCP_REASON_RPC_ERROR,              /* the backend responded with a
                                          JSON-RPC error */
    MCP_REASON_STATUS,                 /* the backend responded with an HTTP
                                          status of 400 or more */
    MCP_REASON_BACKEND_FAILED,
    MCP_REASON_BACKEND_TIMEOUT,
    MCP_REASON_BACKEND_OUTPUT,
    MCP_REASON_BACKEND_TOO_LARGE,
    MCP_REASON_NO_BACKEND,
    MCP_REASON_INPUT_TIMEOUT,          /* the client did not answer a
                                          question in time */
    MCP_REASON_CAPABILITY,
    MCP_REASON_ZONE_FULL,
    MCP_REASON_QUOTA,
    MCP_REASON_UNKNOWN,                /* the tool does not exist */
    MCP_REASON_CANCELLED,
    MCP_REASON_EXPIRED,
    MCP_REASON_LOST,
    MCP_REASON_REQUEST,                /* the client's request is invalid */
    MCP_REASON_INTERNAL,
    MCP_REASON_LEFT,                   /* a client without a session closed
                                          the connection */
    MCP_REASON_UPSTREAM_AUTH,          /* an upstream refused credentials */
    MCP_REASON_UPSTREAM_HOST,          /* an upstream refused Host or Origin */
    MCP_REASON_UPSTREAM_VERSION,       /* an upstream does not serve the
                                          revision */
    MCP_REASON_UPSTREAM_SESSION,       /* a request got no session at an
                                          upstream, or the upstream rejected a
                                          new session */
    MCP_REASON_COUNT
} mcp_reason_e;


typedef struct {
    mcp_str_t  name;           /* [a-z_]+ */
    mcp_str_t  text;           /* explanation */
    mcp_str_t  remedy;         /* what the operator can do */
} mcp_reason_t;


/*
 * Returns the row of a reason; for an unknown number the row of
 * MCP_REASON_NONE. Never returns NULL.
 */
const mcp_reason_t *mcp_reason(unsigned reason);

/* Returns the reason of a fault. */
mcp_reason_e mcp_reason_of_fault(mcp_fault_e fault);


#endif /* MCP_FAULT_H_INCLUDED */
