/* SPDX-License-Identifier: Apache-2.0 */

/* What logs and maps of the server are told of an exchange. */

#include "exchange/mcp_exchange_parts.h"
#include "rpc/mcp_id.h"
#include "rpc/mcp_revision.h"
#include "worker/mcp_hook.h"


static void
mcp_exchange_client_facts(mcp_exchange_t *x)
{
    const mcp_client_t  *client;

    client = &x->client;

    if (!client->has_session && !mcp_client_is_stateless(client)) {
        return;
    }

    mcp_fact_put(&x->facts, MCP_FACT_PROTOCOL_VERSION,
                 mcp_revision(client->revision)->name);

    if (client->has_session) {
        mcp_client_session_facts(client, &x->facts);
    }
}


/* How a call ends that its client has left: closing is cancelling where there
 * are no sessions (2026-07-28, basic/transports/streamable-http,
 * "Cancellation"). */
static mcp_ending_e
mcp_exchange_left(const mcp_exchange_t *x)
{
    return mcp_client_is_stateless(&x->client) ? MCP_ENDING_CANCELLED
                                               : MCP_ENDING_EXPIRED;
}


/*
 * A client that leaves may leave a call behind that was over, or one that ends
 * with that (mcp_max_wait 0).
 */
void
mcp_exchange_last(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    if (x->answer.ending != MCP_ENDING_NONE || x->publish) {
        return;
    }

    if (x->state == MCP_EXCHANGE_WAIT) {
        if (x->call && x->call->policy.max_wait == 0) {
            x->answer.ending = mcp_exchange_left(x);
        }

        return;
    }

    if (x->state != MCP_EXCHANGE_STREAM
        || x->reader.state == MCP_CONSUMER_DONE || x->reader.listener
        || mcp_store_info(x->worker->store, &x->reader.ref, &info) != MCP_OK)
    {
        return;
    }

    x->answer.ending = mcp_ending_of(&info);

    /* a call that others may join does not end with this one */

    if (x->answer.ending == MCP_ENDING_NONE && x->reader.bound
        && x->join == NULL)
    {
        x->answer.ending = mcp_exchange_left(x);
    }
}


const mcp_facts_t *
mcp_exchange_facts(mcp_exchange_t *x)
{
    char         *p, *number;
    mcp_facts_t  *facts;

    facts = &x->facts;

    mcp_fact_set(facts, MCP_FACT_PRINCIPAL, x->head.principal_name);
    mcp_fact_set(facts, MCP_FACT_METHOD, x->msg->method);
    mcp_fact_set(facts, MCP_FACT_REQUEST_ID, x->msg->id);
    mcp_fact_put(facts, MCP_FACT_OUTCOME,
                 (mcp_str_t) { x->answer.outcome, strlen(x->answer.outcome) });
    mcp_fact_put(facts, MCP_FACT_RESULT, mcp_ending_name(x->answer.ending));

    mcp_exchange_client_facts(x);

    /* x->text: short call id, events */

    p = x->text;

    if (x->reader.handle || x->call) {
        mcp_stream_id_short(p, x->reader.handle ? x->reader.ref.id
                                                : x->call->id);
        mcp_fact_put(facts, MCP_FACT_CALL, (mcp_str_t) { p, 8 });
    }

    if (x->reader.joins) {
        mcp_fact_put(facts, MCP_FACT_JOINED, mcp_str("1"));
    }

    if (x->reader.handle && x->state >= MCP_EXCHANGE_STREAM) {
        number = p + 9;
        p = mcp_uint_print(number, x->reader.cursor.seq - x->reader.first);
        mcp_fact_put(facts, MCP_FACT_EVENTS,
                     (mcp_str_t) { number, (size_t) (p - number) });
        mcp_fact_put(facts, MCP_FACT_FACE, x->face->name);

        if (x->reader.resumed) {
            mcp_fact_put(facts, MCP_FACT_RESUMED, mcp_str("1"));
        }
    }

    return facts;
}
