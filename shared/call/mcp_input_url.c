/* SPDX-License-Identifier: Apache-2.0 */

/* The elicitationId of questions that send the user to a URL, and the
 * notification of their completion, which 2025-11-25 has and 2026-07-28 lacks:
 * see mcp_call_internal.h. */

#include "call/mcp_call_internal.h"
#include "http/mcp_event_id.h"


static void
mcp_input_url_id(const mcp_call_t *call, uint64_t number, mcp_buf_t *out)
{
    char  *end;
    char   id[MCP_EVENT_ID_MAX];

    end = mcp_event_id_print(id, call->id, number);

    mcp_buf_lit(out, "\"");
    mcp_buf_add(out, id, (size_t) (end - id));
    mcp_buf_lit(out, "\"");
}


/* Returns 1 if the question sends the user to a URL and has no elicitationId
 * of the backend. */
static int
mcp_input_url_lacks_id(const mcp_question_t *q)
{
    mcp_json_value_t  params;

    params.type = MCP_JSON_OBJECT;
    params.raw = q->params;

    return mcp_str_eq(q->method, mcp_str("elicitation/create"))
           && mcp_json_str_eq(mcp_json_get(&params, mcp_str("mode")).raw,
                              mcp_str("url"))
           && mcp_json_get(&params, mcp_str("elicitationId")).type
              == MCP_JSON_NONE;
}


void
mcp_input_url_params(const mcp_call_t *call, mcp_question_t *q,
    mcp_buf_t *out)
{
    q->url = mcp_input_url_lacks_id(q) != 0;

    if (!q->url) {
        mcp_buf_str(out, q->params);
        return;
    }

    /* the params have a member already, "mode", so a comma is needed */

    mcp_buf_add(out, q->params.data, q->params.len - 1);
    mcp_buf_lit(out, ",\"elicitationId\":");
    mcp_input_url_id(call, q->number, out);
    mcp_buf_lit(out, "}");
}


void
mcp_input_url_asked(mcp_request_t *req, const mcp_question_t *q)
{
    /* without memory the client gets no notification of the completion, which
     * is optional */

    if (q->url) {
        mcp_buf_add(&req->urls, &q->number, sizeof(q->number));
    }
}


static void
mcp_input_url_drop(mcp_request_t *req, size_t at)
{
    mcp_buf_t  *urls;

    urls = &req->urls;
    urls->len -= sizeof(uint64_t);
    memmove(urls->data + at, urls->data + at + sizeof(uint64_t),
            urls->len - at);
}


void
mcp_input_url_answered(mcp_request_t *req, const mcp_question_t *q)
{
    size_t            at;
    mcp_json_value_t  answer;

    answer.type = q->answer.data[0] == '{' ? MCP_JSON_OBJECT : MCP_JSON_NULL;
    answer.raw = q->answer;

    if (!q->url
        || mcp_json_str_eq(mcp_json_get(&answer, mcp_str("action")).raw,
                           mcp_str("accept")))
    {
        return;
    }

    for (at = 0; at < req->urls.len; at += sizeof(uint64_t)) {
        if (memcmp(req->urls.data + at, &q->number, sizeof(uint64_t)) == 0) {
            mcp_input_url_drop(req, at);
            return;
        }
    }
}


int
mcp_input_url_settle(mcp_request_t *req)
{
    int        rc;
    uint64_t   number;
    mcp_buf_t  buf;

    rc = MCP_OK;
    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);

    while (rc == MCP_OK && req->urls.len) {
        memcpy(&number, req->urls.data, sizeof(number));

        buf.len = 0;
        mcp_buf_lit(&buf, "{\"jsonrpc\":\"2.0\",\"method\":"
                          "\"notifications/elicitation/complete\",\"params\":{"
                          "\"elicitationId\":");
        mcp_input_url_id(req->call, number, &buf);
        mcp_buf_lit(&buf, "}}");

        rc = buf.failed;

        if (rc == MCP_OK) {
            rc = mcp_call_append(req, (mcp_str_t) { buf.data, buf.len },
                                 mcp_call_state(req->call));
        }

        if (rc != MCP_ERR_LIMIT && rc != MCP_ERR_FULL) {
            mcp_input_url_drop(req, 0);
        }
    }

    mcp_buf_free(&buf);

    /* an error other than a lack of room is not reported here: the append of
     * the next event fails with it as well */

    return rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL ? MCP_AGAIN : MCP_OK;
}


int
mcp_input_url_is_settled(const mcp_request_t *req,
    const mcp_backend_msg_t *msg)
{
    mcp_json_value_t       root, params;
    const mcp_revision_t  *revision;

    if (!mcp_str_eq(msg->method,
                    mcp_str("notifications/elicitation/complete")))
    {
        return 0;
    }

    root.type = MCP_JSON_OBJECT;
    root.raw = msg->body;
    params = mcp_json_get(&root, mcp_str("params"));
    revision = mcp_revision(req->call->client.revision);

    /* 2026-07-28 has no notification that a URL question was completed */

    return revision->stateless
           || (revision->url_mode
               && mcp_json_get(&params, mcp_str("elicitationId")).type
                  == MCP_JSON_NONE);
}
