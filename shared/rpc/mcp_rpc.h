/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The JSON-RPC 2.0 envelope: one message sliced out of its raw body, checked
 * against the base protocol's rules (specification, basic/index "Messages").
 */


#ifndef MCP_RPC_H_INCLUDED
#define MCP_RPC_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "json/mcp_json.h"


typedef enum {
    MCP_RPC_INVALID = 0,       /* "fault" says why; "id" if one was usable */
    MCP_RPC_REQUEST,
    MCP_RPC_NOTIFICATION,
    MCP_RPC_RESULT,            /* a response */
    MCP_RPC_ERROR              /* an error response */
} mcp_rpc_kind_e;


/* Longest raw id (quotes included) that is taken; ids are kept in the log
 * and in tokens, so they are bounded. */
#define MCP_RPC_MAX_ID  256


typedef struct {
    mcp_rpc_kind_e    kind;
    mcp_fault_e       fault;
    mcp_str_t         raw;             /* the whole message */
    mcp_str_t         id;              /* raw, empty if none */
    mcp_str_t         method;          /* unescaped */

    mcp_json_value_t  params;
    mcp_json_value_t  result;
    mcp_json_value_t  error;

    /* out of params */
    mcp_json_value_t  name;
    mcp_json_value_t  uri;
    mcp_json_value_t  cursor;
    mcp_json_value_t  level;
    mcp_json_value_t  request_id;      /* notifications/cancelled */
    mcp_json_value_t  reason;
    mcp_json_value_t  protocol_version;
    mcp_json_value_t  capabilities;
    mcp_json_value_t  client_info;
    mcp_json_value_t  arguments;
    mcp_json_value_t  ref;             /* completion/complete */
    mcp_json_value_t  ref_type;
    mcp_json_value_t  ref_name;
    mcp_json_value_t  ref_uri;
    mcp_json_value_t  meta;
    mcp_json_value_t  progress_token;  /* params._meta.progressToken */
    mcp_json_value_t  notify_token;    /* params.progressToken */
    mcp_json_value_t  resume_token;    /* params.resumeToken */
    mcp_json_value_t  meta_resume_token;   /* params._meta.resumeToken */
} mcp_rpc_t;


/*
 * Reads one message out of text.  A text that breaks JSON or JSON-RPC is
 * MCP_RPC_INVALID with its fault, not an error of this function; a top-level
 * array is MCP_RPC_INVALID with MCP_FAULT_BATCH.  Rules: jsonrpc is exactly
 * "2.0"; id is a string or an integer number (no fraction, no exponent), never
 * null, at most MCP_RPC_MAX_ID bytes; method is a non-empty string; params, if
 * there, is an object; exactly one of method, result, error; a duplicate of
 * any field read here is invalid.
 * msg->method and other unescaped strings live in arena.
 * Returns MCP_OK or MCP_ERR_MEMORY.
 */
int mcp_rpc_parse(mcp_arena_t *arena, mcp_str_t text, unsigned max_depth,
    mcp_rpc_t *msg);

/* 1 if a value may be a request's id, and a progress token likewise: a string,
 * or an integer without fraction and exponent, of MCP_RPC_MAX_ID bytes at
 * most. */
int mcp_rpc_id_usable(const mcp_json_value_t *id);

/*
 * Splits a batch: *items gets the raw elements (arena), *n their number.
 * fault: MCP_FAULT_NONE, _PARSE, _TOO_DEEP, _INVALID_REQUEST (empty array or
 * no array), _BATCH_SIZE (more than max_items).
 */
int mcp_rpc_split(mcp_arena_t *arena, mcp_str_t text, unsigned max_depth,
    size_t max_items, mcp_str_t **items, size_t *n, mcp_fault_e *fault);

/* 1 if the first byte of text that is not white space is '['. */
int mcp_rpc_is_batch(mcp_str_t text);


#endif /* MCP_RPC_H_INCLUDED */
