/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_cancel.h"
#include "call/mcp_heard.h"
#include "rpc/mcp_method.h"
#include "worker/mcp_notify.h"


static int
mcp_heard_end(mcp_worker_t *worker, const mcp_word_t *word)
{
    int  rc;

    rc = mcp_store_value_push(worker->store, MCP_VALUE_SESSION_ENDED,
                              word->key, 1, word->expires, NULL);

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

    switch (word->what) {

    case MCP_WORD_SESSION_ENDED:
        rc = mcp_heard_end(worker, word);
        break;

    case MCP_WORD_LOG_LEVEL:
        if (word->value >= MCP_LOG_LEVELS) {
            break;
        }

        rc = mcp_store_value_set(worker->store, MCP_VALUE_LOG_LEVEL, word->key,
                                 word->value, word->expires, NULL);
        break;

    case MCP_WORD_CROWDED:
        rc = mcp_store_value_set(worker->store, MCP_VALUE_CROWDED, word->key, 1,
                                 word->expires, NULL);
        break;

    case MCP_WORD_CANCELLED:
        rc = mcp_cancel(worker, word, NULL);
        break;

    case MCP_WORD_NOTIFICATION:
        mcp_notify_hear(worker, word);
        break;

    case MCP_WORD_TOPIC:
        rc = mcp_notify_hear_topic(worker, word->session, word->key,
                                   word->value);
        break;

    default:
        return;
    }

    if (rc == MCP_ERR_FULL || rc == MCP_ERR_LIMIT) {
        mcp_worker_log(worker, MCP_LOG_ERROR,
                       "the zone has no room for what another node has told: "
                       "%s", word->what == MCP_WORD_SESSION_ENDED
                             ? "a session has ended"
                             : word->what == MCP_WORD_TOPIC
                             ? "a subscription" : "a setting");
    }
}
