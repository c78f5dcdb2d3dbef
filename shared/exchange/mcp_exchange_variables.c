/* SPDX-License-Identifier: Apache-2.0 */

/* The variables of an exchange for the server's logs and maps. */

#include "exchange/mcp_exchange_internal.h"
#include "rpc/mcp_id.h"
#include "rpc/mcp_revision.h"
#include "worker/mcp_resume_hooks.h"


static void
mcp_exchange_client_variables(mcp_exchange_t *x)
{
    const mcp_client_t  *client;

    client = &x->client;

    if (!client->has_session && !mcp_client_is_stateless(client)) {
        return;
    }

    mcp_variable_put(&x->variables, MCP_VARIABLE_PROTOCOL_VERSION,
                     mcp_revision(client->revision)->name);

    if (client->has_session) {
        mcp_client_session_variables(client, &x->variables);
    }
}


/* Returns the outcome of a call whose client has disconnected: in a revision
 * without sessions the disconnection cancels the call (2026-07-28,
 * basic/transports/streamable-http, "Cancellation"). */
static mcp_outcome_e
mcp_exchange_left(const mcp_exchange_t *x)
{
    return mcp_client_is_stateless(&x->client) ? MCP_OUTCOME_CANCELLED
                                               : MCP_OUTCOME_EXPIRED;
}


/* Sets the call's outcome when the server's request ends, if the call is over,
 * or ends because its client has disconnected (mcp_max_wait 0, or a call that
 * is bound to its connection). */
void
mcp_exchange_last(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    if (x->answer.call_outcome != MCP_OUTCOME_NONE || x->publish) {
        return;
    }

    if (x->state == MCP_EXCHANGE_WAIT) {
        if (x->call
            && (x->call->policy.max_wait == 0 || mcp_call_is_bound(x->call)))
        {
            x->answer.call_outcome = mcp_exchange_left(x);
        }

        return;
    }

    if (x->state != MCP_EXCHANGE_STREAM
        || x->reader.state == MCP_CONSUMER_DONE || x->reader.listener
        || mcp_store_info(x->worker->store, &x->reader.ref, &info) != MCP_OK)
    {
        return;
    }

    x->answer.call_outcome = mcp_outcome_of(&info);

    /* a call that other requests may join does not end with this exchange */

    if (x->answer.call_outcome == MCP_OUTCOME_NONE && x->reader.bound
        && x->join == NULL)
    {
        x->answer.call_outcome = mcp_exchange_left(x);
    }
}


const mcp_variables_t *
mcp_exchange_variables(mcp_exchange_t *x)
{
    char             *p, *number;
    mcp_variables_t  *variables;

    variables = &x->variables;

    mcp_variable_set(variables, MCP_VARIABLE_PRINCIPAL, x->head.principal_name);
    mcp_variable_set(variables, MCP_VARIABLE_METHOD, x->msg->method);
    mcp_variable_set(variables, MCP_VARIABLE_REQUEST_ID, x->msg->id);
    mcp_variable_put(variables, MCP_VARIABLE_OUTCOME,
                     (mcp_str_t) { x->answer.outcome,
                                   strlen(x->answer.outcome) });
    mcp_variable_put(variables, MCP_VARIABLE_RESULT,
                     mcp_outcome_name(x->answer.call_outcome));

    mcp_exchange_client_variables(x);

    /* the values of two variables are in x->text: the short id of the call and
     * the number of events */

    p = x->text;

    if (x->reader.handle || x->call) {
        mcp_stream_id_short(p, x->reader.handle ? x->reader.ref.id
                                                : x->call->id);
        mcp_variable_put(variables, MCP_VARIABLE_CALL, (mcp_str_t) { p, 8 });
    }

    if (x->reader.joins) {
        mcp_variable_put(variables, MCP_VARIABLE_JOINED, mcp_str("1"));
    }

    if (x->reader.handle && x->state >= MCP_EXCHANGE_STREAM) {
        number = p + 9;
        p = mcp_uint_print(number, x->reader.cursor.seq - x->reader.first);
        mcp_variable_put(variables, MCP_VARIABLE_EVENTS,
                         (mcp_str_t) { number, (size_t) (p - number) });
        mcp_variable_put(variables, MCP_VARIABLE_RESUME_METHOD,
                         x->resumption->name);

        if (x->reader.resumed) {
            mcp_variable_put(variables, MCP_VARIABLE_RESUMED, mcp_str("1"));
        }
    }

    return variables;
}
