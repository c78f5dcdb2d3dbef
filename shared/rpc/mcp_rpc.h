/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The JSON-RPC 2.0 envelope: the parts of one message, checked against the
 * rules of the base protocol (2025-11-25, basic/index, "Messages").
 */


#ifndef MCP_RPC_H_INCLUDED
#define MCP_RPC_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "json/mcp_json_scan.h"


typedef enum {
    MCP_RPC_INVALID = 0,       /* an invalid message: "fault" is the reason, and
                                  "id" is set if it is usable */
    MCP_RPC_REQUEST,
    MCP_RPC_NOTIFICATION,
    MCP_RPC_RESULT,            /* a response */
    MCP_RPC_ERROR              /* an error response */
} mcp_rpc_kind_e;


/*
 * Maximum length of a raw id with its quotes, bytes. It must be bounded,
 * because ids are stored in the log and in tokens.
 */
#define MCP_RPC_MAX_ID  256

#define MCP_RPC_FIELDS  38


typedef struct {
    mcp_rpc_kind_e    kind;
    mcp_fault_e       fault;
    mcp_str_t         detail;          /* detail of the fault, see
                                          mcp_fault_write(), such as the name of
                                          an invalid member; may be empty */
    mcp_str_t         raw;             /* the whole message */
    mcp_str_t         id;              /* raw, empty if none */
    mcp_str_t         method;          /* unescaped */
    const mcp_method_t  *row;          /* row of the method; NULL if the
                                          message is invalid */

    /*
     * The fields that are read, in the order of the scan: parents precede
     * their children, and the most frequent fields come first.
     */
    union {
        mcp_json_value_t      fields[MCP_RPC_FIELDS];

        struct {
            mcp_json_value_t  jsonrpc;
            mcp_json_value_t  id_value;
            mcp_json_value_t  method_value;
            mcp_json_value_t  params;
            mcp_json_value_t  result;
            mcp_json_value_t  error;

            /* members of params */
            mcp_json_value_t  name;
            mcp_json_value_t  arguments;
            mcp_json_value_t  meta;
            mcp_json_value_t  uri;
            mcp_json_value_t  cursor;
            mcp_json_value_t  level;
            mcp_json_value_t  request_id;  /* for notifications/cancelled */
            mcp_json_value_t  reason;
            mcp_json_value_t  protocol_version;
            mcp_json_value_t  capabilities;
            mcp_json_value_t  client_info;
            mcp_json_value_t  ref;
            mcp_json_value_t  notify_token;    /* progressToken in params, for
                                                  notifications/progress */
            mcp_json_value_t  resume_token;
            mcp_json_value_t  key;         /* idempotencyKey */
            mcp_json_value_t  input_responses;
            mcp_json_value_t  request_state;
            mcp_json_value_t  notifications;   /* for subscriptions/listen */
            mcp_json_value_t  task_id;

            /* members of params.ref, for completion/complete */
            mcp_json_value_t  ref_type;
            mcp_json_value_t  ref_name;
            mcp_json_value_t  ref_uri;

            /* members of params._meta */
            mcp_json_value_t  progress_token;
            mcp_json_value_t  meta_resume_token;
            mcp_json_value_t  meta_key;    /* idempotencyKey */

            /* members of params._meta with the prefix
             * "io.modelcontextprotocol/" */
            mcp_json_value_t  meta_version;
            mcp_json_value_t  meta_client_info;
            mcp_json_value_t  meta_capabilities;
            mcp_json_value_t  meta_log_level;

            /* members of params._meta without a prefix, for the trace
             * context */
            mcp_json_value_t  meta_traceparent;
            mcp_json_value_t  meta_tracestate;
            mcp_json_value_t  meta_baggage;
        };
    };
} mcp_rpc_t;


/* The sender of a message. */
typedef enum {
    MCP_RPC_FROM_CLIENT = 0,
    MCP_RPC_FROM_BACKEND
} mcp_rpc_from_e;


/*
 * Parses one message.
 *
 * For a text that is not JSON or violates JSON-RPC, the function succeeds: the
 * message is MCP_RPC_INVALID, with its fault. For an array, the fault is
 * MCP_FAULT_BATCH. The rules are:
 *
 *   - jsonrpc is exactly "2.0";
 *   - id is a string, or a number without fraction and exponent, not null, and
 *     has at most MCP_RPC_MAX_ID bytes;
 *   - method is a string that is not empty;
 *   - params, if present, is an object;
 *   - exactly one of method, result and error is present;
 *   - no field that is read here is present twice;
 *   - in a message from a client, no member of an object that is read here has
 *     a name that is similar to a field's (mcp_json_alike()). A backend whose
 *     parser ignores the case of names would read another message than the one
 *     that was checked;
 *   - params that is null counts as absent, and so does a member of params, of
 *     params.ref or of params._meta that is null.
 *
 * Unescaped strings (msg->method) are in the text or in the arena.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_rpc_parse(mcp_arena_t *arena, mcp_str_t text, unsigned max_depth,
    mcp_rpc_from_e from, mcp_rpc_t *msg);

/*
 * Parses a client's message like mcp_rpc_parse() into a structure in the
 * arena; *msg is unchanged when out of memory.
 */
int mcp_rpc_read(mcp_arena_t *arena, mcp_str_t text, unsigned max_depth,
    const mcp_rpc_t **msg);

/*
 * Replaces the values at n places, 1 or 2, of a request with another JSON
 * value, and parses the request again, into the arena. The places may be in
 * any order.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  the message is no longer a request, because the value is
 *                     not JSON
 */
int mcp_rpc_replace(mcp_arena_t *arena, const mcp_json_value_t *places,
    size_t n, mcp_str_t value, unsigned max_depth, const mcp_rpc_t **msg);

/* A message without any field, for exchanges that have no message. */
extern const mcp_rpc_t  mcp_rpc_none;

/*
 * Returns 1 if a value may be the id of a request, or a progress token: a
 * string, or a number without fraction and exponent, of at most MCP_RPC_MAX_ID
 * bytes.
 */
int mcp_rpc_id_usable(const mcp_json_value_t *id);

/*
 * Splits a batch. Sets *items to its n raw elements, in the arena.
 *
 * For an invalid batch the function succeeds: *n is 0, and *fault is
 *   MCP_FAULT_PARSE            the text is not JSON
 *   MCP_FAULT_TOO_DEEP         a message has more than max_depth nested
 *                              containers
 *   MCP_FAULT_INVALID_REQUEST  the text is not an array, or is an empty array
 *   MCP_FAULT_BATCH_SIZE       there are more than max_items elements
 * and MCP_FAULT_NONE otherwise.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_rpc_split(mcp_arena_t *arena, mcp_str_t text, unsigned max_depth,
    size_t max_items, mcp_str_t **items, size_t *n, mcp_fault_e *fault);

/* Returns 1 if the first byte of text that is not white space is '['. */
int mcp_rpc_is_batch(mcp_str_t text);


#endif /* MCP_RPC_H_INCLUDED */
