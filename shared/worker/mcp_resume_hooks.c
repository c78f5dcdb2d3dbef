/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_resume_hooks.h"


struct mcp_resume_state_s {
    const mcp_resume_method_t  *hooks;
    mcp_resume_state_t         *next;
};


/* size of the structure, rounded up to the alignment of the arena's memory */
#define MCP_HOOK_STATE_HEAD  ((sizeof(mcp_resume_state_t) + 7) & ~(size_t) 7)


void *
mcp_hook_state_create(mcp_exchange_t *x, const mcp_resume_method_t *hooks,
    size_t size)
{
    mcp_resume_state_t  *state;

    state = mcp_arena_calloc(&x->arena, MCP_HOOK_STATE_HEAD + size);
    if (state == NULL) {
        return NULL;
    }

    state->hooks = hooks;
    state->next = x->states;
    x->states = state;

    return (char *) state + MCP_HOOK_STATE_HEAD;
}


void *
mcp_hook_state(mcp_resume_state_t *states, const mcp_resume_method_t *hooks)
{
    for (; states; states = states->next) {
        if (states->hooks == hooks) {
            return (char *) states + MCP_HOOK_STATE_HEAD;
        }
    }

    return NULL;
}


int
mcp_hook_begin(mcp_worker_t *worker, mcp_call_t *call)
{
    int                                rc;
    const mcp_resume_method_t *const  *hooks;

    rc = MCP_OK;

    for (hooks = worker->methods; rc == MCP_OK && *hooks; hooks++) {
        if ((*hooks)->begin) {
            rc = (*hooks)->begin(call);
        }
    }

    return rc;
}


void
mcp_hook_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    const mcp_resume_method_t *const  *hooks;

    for (hooks = x->worker->methods; *hooks; hooks++) {
        if ((*hooks)->tail) {
            (*hooks)->tail(x, how);
        }
    }
}


/* --- hooks for requests to URLs of a method --- */

/* Returns the resumption methods that an exchange may use, as MCP_CLIENT_...
 * bits: those that its client has declared, those that its endpoint offers to
 * all clients, and resume tokens if its message contains one. */
static unsigned
mcp_hook_wanted(const mcp_exchange_t *x)
{
    unsigned  wanted;

    wanted = x->client.capabilities;

    if (x->endpoint->link) {
        wanted |= MCP_CLIENT_LINKS;
    }

    if (x->msg->resume_token.type != MCP_JSON_NONE
        || x->msg->meta_resume_token.type != MCP_JSON_NONE)
    {
        wanted |= MCP_CLIENT_TOKENS;
    }

    return wanted;
}


int
mcp_hook_lookup(mcp_exchange_t *x, const mcp_head_t *head)
{
    int                                rc;
    unsigned                           wanted;
    const mcp_resume_method_t *const  *hooks;

    /* most clients declare no method */

    wanted = mcp_hook_wanted(x);

    if (wanted == 0) {
        return MCP_OK;
    }

    for (hooks = x->worker->methods; *hooks; hooks++) {
        if (!((*hooks)->capability & wanted) || (*hooks)->lookup == NULL) {
            continue;
        }

        rc = (*hooks)->lookup(x, head);

        if (rc == MCP_OK) {
            x->resumption = *hooks;
        }

        if (rc != MCP_DONE) {
            return rc;
        }
    }

    return MCP_OK;
}


void
mcp_hook_head(mcp_exchange_t *x)
{
    const mcp_resume_method_t *const  *hooks;

    for (hooks = x->worker->methods; *hooks; hooks++) {
        if ((*hooks)->head) {
            (*hooks)->head(x);
        }
    }
}


int
mcp_hook_idle(mcp_exchange_t *x)
{
    const mcp_resume_method_t *const  *hooks;

    /* no resumption method has a state for the exchange, so none can close its
     * connection */

    if (x->states == NULL) {
        return 0;
    }

    for (hooks = x->worker->methods; *hooks; hooks++) {
        if ((*hooks)->idle && (*hooks)->idle(x)) {
            return 1;
        }
    }

    return 0;
}


/* --- in calls --- */

mcp_next_e
mcp_hook_request(mcp_exchange_t *x)
{
    unsigned                           wanted;
    mcp_next_e                         next;
    const mcp_resume_method_t *const  *hooks;

    next = MCP_NEXT_CONTINUE;
    wanted = mcp_hook_wanted(x);

    if (wanted == 0) {
        return next;
    }

    for (hooks = x->worker->methods;
         next == MCP_NEXT_CONTINUE && *hooks;
         hooks++)
    {
        if (((*hooks)->capability & wanted) && (*hooks)->call) {
            next = (*hooks)->call->request(x);
        }
    }

    return next;
}


void
mcp_hook_start(mcp_resume_state_t *states, mcp_call_t *call)
{
    for (; states; states = states->next) {
        if (states->hooks->call) {
            states->hooks->call->start(call);
        }
    }
}


void
mcp_hook_refused(mcp_exchange_t *x)
{
    mcp_resume_state_t  *state;

    for (state = x->states; state; state = state->next) {
        if (state->hooks->call && state->hooks->call->refused) {
            state->hooks->call->refused(x);
        }
    }
}


int
mcp_hook_result(mcp_worker_t *worker, mcp_request_t *req,
    const mcp_backend_msg_t *msg, mcp_buf_t *out)
{
    int                                rc;
    const mcp_resume_method_t *const  *hooks;

    rc = MCP_DONE;

    if (!msg->has_next) {
        return MCP_DONE;
    }

    for (hooks = worker->methods; rc == MCP_DONE && *hooks; hooks++) {
        if ((*hooks)->call && (*hooks)->call->result) {
            rc = (*hooks)->call->result(req, msg, out);
        }
    }

    return rc;
}


void
mcp_hook_answered(mcp_resume_state_t *states, mcp_request_t *req,
    mcp_outcome_e how)
{
    for (; states; states = states->next) {
        if (states->hooks->call && states->hooks->call->answered) {
            states->hooks->call->answered(req, how);
        }
    }
}


void
mcp_hook_failed(mcp_resume_state_t *states, mcp_request_t *req)
{
    for (; states; states = states->next) {
        if (states->hooks->call && states->hooks->call->failed) {
            states->hooks->call->failed(req);
        }
    }
}


/* --- readers --- */

int
mcp_hook_stays(mcp_exchange_t *x)
{
    mcp_resume_state_t         *state;
    const mcp_resume_reader_t  *reader;

    for (state = x->states; state; state = state->next) {
        reader = state->hooks->reader;

        if (reader && reader->stays && reader->stays(x)) {
            return 1;
        }
    }

    return 0;
}


const mcp_resume_method_t *
mcp_hook_find(const mcp_exchange_t *x, const mcp_method_t *method)
{
    const mcp_resume_method_t *const  *hooks;

    if ((x->client.capabilities & method->capability) == 0) {
        return NULL;
    }

    for (hooks = x->worker->methods; *hooks; hooks++) {
        if ((*hooks)->capability == method->capability) {
            return *hooks;
        }
    }

    return NULL;
}


int
mcp_hook_handle_method(mcp_exchange_t *x, const mcp_rpc_t *msg)
{
    const mcp_resume_method_t  *hooks;

    if (x->worker->cluster == NULL || msg->row->capability == 0) {
        return MCP_OK;
    }

    hooks = mcp_hook_find(x, msg->row);

    return hooks && hooks->start ? hooks->start(x, msg, msg->row->id) : MCP_OK;
}
