/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ids of tasks (extension io.modelcontextprotocol/tasks): signed tokens from
 * which every process gets the stream of the call.
 */


#ifndef MCP_TASK_ID_H_INCLUDED
#define MCP_TASK_ID_H_INCLUDED


#include "base/mcp_token.h"
#include "http/mcp_event_id.h"


typedef struct {
    unsigned char  stream[MCP_STREAM_ID_LEN];
    uint64_t       created;            /* time of creation, ms of
                                          mcp_env_t.now */
    uint64_t       ttl;                /* time to live after the creation,
                                          ms */
} mcp_task_id_t;


/*
 * Appends the id.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  there is no key, or OpenSSL failed
 *   the error of out
 */
int mcp_task_id_write(const mcp_task_id_t *id, const mcp_keys_t *keys,
    mcp_buf_t *out);

/*
 * Verifies a client's task id.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the id was not signed with a configured key, or the task
 *                      has expired
 *   MCP_ERR_INTERNAL   OpenSSL failed
 */
int mcp_task_id_read(mcp_task_id_t *id, const mcp_keys_t *keys, mcp_str_t text,
    uint64_t now);


#endif /* MCP_TASK_ID_H_INCLUDED */
