/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_hook.h"


struct mcp_face_state_s {
    const mcp_face_t  *face;
    mcp_face_state_t  *next;
};


/* what follows is aligned as the arena's memory is */
#define MCP_HOOK_STATE_HEAD  ((sizeof(mcp_face_state_t) + 7) & ~(size_t) 7)


void *
mcp_hook_state_create(mcp_exchange_t *x, const mcp_face_t *face, size_t size)
{
    mcp_face_state_t  *state;

    state = mcp_arena_calloc(&x->arena, MCP_HOOK_STATE_HEAD + size);
    if (state == NULL) {
        return NULL;
    }

    state->face = face;
    state->next = x->states;
    x->states = state;

    return (char *) state + MCP_HOOK_STATE_HEAD;
}


void *
mcp_hook_state(mcp_face_state_t *states, const mcp_face_t *face)
{
    for (; states; states = states->next) {
        if (states->face == face) {
            return (char *) states + MCP_HOOK_STATE_HEAD;
        }
    }

    return NULL;
}


int
mcp_hook_begin(mcp_worker_t *worker, mcp_call_t *call)
{
    int                       rc;
    const mcp_face_t *const  *face;

    rc = MCP_OK;

    for (face = worker->faces; rc == MCP_OK && *face; face++) {
        if ((*face)->begin) {
            rc = (*face)->begin(call);
        }
    }

    return rc;
}


void
mcp_hook_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    const mcp_face_t *const  *face;

    for (face = x->worker->faces; *face; face++) {
        if ((*face)->tail) {
            (*face)->tail(x, how);
        }
    }
}


/* --- with a URL --- */

/* The ways of coming back that an exchange may take, as bits of MCP_CLIENT_...:
 * what its client has declared, what its endpoint offers to all, and that of
 * which its message has a token. */
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
mcp_hook_look(mcp_exchange_t *x, const mcp_head_t *head)
{
    int                       rc;
    unsigned                  wanted;
    const mcp_face_t *const  *face;

    wanted = mcp_hook_wanted(x);

    for (face = x->worker->faces; *face; face++) {
        if ((*face)->url == NULL || !((*face)->url->wanted_by & wanted)) {
            continue;
        }

        rc = (*face)->url->look(x, head);

        if (rc == MCP_OK) {
            x->face = *face;
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
    const mcp_face_t *const  *face;

    for (face = x->worker->faces; *face; face++) {
        if ((*face)->url) {
            (*face)->url->head(x);
        }
    }
}


int
mcp_hook_idle(mcp_exchange_t *x)
{
    const mcp_face_t *const  *face;

    /* a connection that no face has anything of waits for its stream */

    if (x->states == NULL) {
        return 0;
    }

    for (face = x->worker->faces; *face; face++) {
        if ((*face)->url && (*face)->url->idle(x)) {
            return 1;
        }
    }

    return 0;
}


/* --- in calls --- */

int
mcp_hook_request(mcp_exchange_t *x)
{
    int                       rc;
    unsigned                  wanted;
    const mcp_face_t *const  *face;

    rc = MCP_AGAIN;
    wanted = mcp_hook_wanted(x);

    for (face = x->worker->faces; rc == MCP_AGAIN && *face; face++) {
        if ((*face)->call && ((*face)->call->wanted_by & wanted)) {
            rc = (*face)->call->request(x);
        }
    }

    return rc;
}


void
mcp_hook_start(mcp_face_state_t *states, mcp_call_t *call)
{
    for (; states; states = states->next) {
        if (states->face->call) {
            states->face->call->start(call);
        }
    }
}


void
mcp_hook_refused(mcp_exchange_t *x)
{
    mcp_face_state_t  *state;

    for (state = x->states; state; state = state->next) {
        if (state->face->call) {
            state->face->call->refused(x);
        }
    }
}


int
mcp_hook_result(mcp_worker_t *worker, mcp_request_t *req,
    const mcp_backend_msg_t *msg, mcp_buf_t *out)
{
    int                       rc;
    const mcp_face_t *const  *face;

    rc = MCP_DONE;

    if (!msg->has_next) {
        return MCP_DONE;
    }

    for (face = worker->faces; rc == MCP_DONE && *face; face++) {
        if ((*face)->call) {
            rc = (*face)->call->result(req, msg, out);
        }
    }

    return rc;
}


void
mcp_hook_answered(mcp_face_state_t *states, mcp_request_t *req,
    mcp_ending_e how)
{
    for (; states; states = states->next) {
        if (states->face->call) {
            states->face->call->answered(req, how);
        }
    }
}


void
mcp_hook_failed(mcp_face_state_t *states, mcp_request_t *req)
{
    for (; states; states = states->next) {
        if (states->face->call) {
            states->face->call->failed(req);
        }
    }
}


/* --- readers --- */

int
mcp_hook_stays(mcp_exchange_t *x)
{
    mcp_face_state_t  *state;

    for (state = x->states; state; state = state->next) {
        if (state->face->reader && state->face->reader->stays(x)) {
            return 1;
        }
    }

    return 0;
}


const mcp_face_t *
mcp_hook_find(const mcp_exchange_t *x, const mcp_method_t *method)
{
    const mcp_face_t *const  *face;

    if ((x->client.capabilities & method->capability) == 0) {
        return NULL;
    }

    for (face = x->worker->faces; *face; face++) {
        if ((*face)->capability == method->capability) {
            return *face;
        }
    }

    return NULL;
}


int
mcp_hook_ask(mcp_exchange_t *x, const mcp_rpc_t *msg)
{
    const mcp_face_t  *face;

    if (x->worker->cluster == NULL || msg->row->capability == 0) {
        return MCP_OK;
    }

    face = mcp_hook_find(x, msg->row);

    return face && face->ask ? face->ask(x, msg, msg->row->id) : MCP_OK;
}
