/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_cancel.h"
#include "call/mcp_heard.h"
#include "rpc/mcp_method.h"


static int
mcp_heard_end(mcp_worker_t *worker, const mcp_word_t *word)
{
    int  rc;

    rc = mcp_store_value_push(worker->store, MCP_VALUE_SESSION_ENDED,
                              word->key, 1, word->expires, NULL);

    mcp_store_value_delete(worker->store, MCP_VALUE_LOG_LEVEL, word->key);
    mcp_cancel_session(worker, word->key);

    return rc;
}


void
mcp_heard(mcp_worker_t *worker, const mcp_word_t *word)
{
    int  rc;

    rc = MCP_OK;

    if (word->expires != 0 && word->expires <= mcp_worker_now(worker)) {
        return;
    }

    switch (word->purpose) {

    case MCP_VALUE_SESSION_ENDED:
        rc = mcp_heard_end(worker, word);
        break;

    case MCP_VALUE_LOG_LEVEL:
        if (word->value >= MCP_LOG_LEVELS) {
            break;
        }

        rc = mcp_store_value_set(worker->store, MCP_VALUE_LOG_LEVEL, word->key,
                                 word->value, word->expires, NULL);
        break;

    case MCP_VALUE_CANCELLED:
        rc = mcp_cancel(worker, word, NULL);
        break;

    default:
        return;
    }

    if (rc == MCP_ERR_FULL) {
        mcp_worker_log(worker, MCP_LOG_ERROR,
                       "the zone has no room for what another node has told: "
                       "%s", word->purpose == MCP_VALUE_SESSION_ENDED
                             ? "a session has ended" : "a setting");
    }
}
