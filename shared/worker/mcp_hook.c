/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_hook.h"


int
mcp_hook_begin(mcp_worker_t *worker, mcp_call_t *call)
{
    int                       rc;
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = worker->faces;
    rc = MCP_OK;

    for (i = 0; rc == MCP_OK && faces[i]; i++) {
        if (faces[i]->begin) {
            rc = faces[i]->begin(call);
        }
    }

    return rc;
}


int
mcp_hook_look(mcp_exchange_t *x, const mcp_head_t *head)
{
    int                       rc;
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = x->worker->faces;

    for (i = 0; faces[i]; i++) {
        if (faces[i]->look == NULL) {
            continue;
        }

        rc = faces[i]->look(x, head);

        if (rc == MCP_OK) {
            x->face = faces[i];
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
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = x->worker->faces;

    for (i = 0; faces[i]; i++) {
        if (faces[i]->head) {
            faces[i]->head(x);
        }
    }
}


int
mcp_hook_idle(mcp_exchange_t *x)
{
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = x->worker->faces;

    for (i = 0; faces[i]; i++) {
        if (faces[i]->idle && faces[i]->idle(x)) {
            return 1;
        }
    }

    return 0;
}


int
mcp_hook_stays(mcp_exchange_t *x)
{
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = x->worker->faces;

    for (i = 0; faces[i]; i++) {
        if (faces[i]->stays && faces[i]->stays(x)) {
            return 1;
        }
    }

    return 0;
}


void
mcp_hook_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = x->worker->faces;

    for (i = 0; faces[i]; i++) {
        if (faces[i]->tail) {
            faces[i]->tail(x, how);
        }
    }
}


int
mcp_hook_call(mcp_exchange_t *x)
{
    int                       rc;
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = x->worker->faces;
    rc = MCP_AGAIN;

    for (i = 0; rc == MCP_AGAIN && faces[i]; i++) {
        if (faces[i]->call) {
            rc = faces[i]->call(x);
        }
    }

    return rc;
}


void
mcp_hook_start(mcp_worker_t *worker, mcp_call_t *call)
{
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = worker->faces;

    for (i = 0; faces[i]; i++) {
        if (faces[i]->start) {
            faces[i]->start(call);
        }
    }
}


void
mcp_hook_unmade(mcp_exchange_t *x)
{
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = x->worker->faces;

    for (i = 0; faces[i]; i++) {
        if (faces[i]->unmade) {
            faces[i]->unmade(x);
        }
    }
}


void
mcp_hook_interim(mcp_exchange_t *x)
{
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = x->worker->faces;

    for (i = 0; faces[i]; i++) {
        if (faces[i]->interim) {
            faces[i]->interim(x);
        }
    }
}


int
mcp_hook_result(mcp_worker_t *worker, mcp_request_t *req,
    const mcp_backend_msg_t *msg, mcp_buf_t *out)
{
    int                       rc;
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = worker->faces;
    rc = MCP_DONE;

    for (i = 0; rc == MCP_DONE && faces[i]; i++) {
        if (faces[i]->result) {
            rc = faces[i]->result(req, msg, out);
        }
    }

    return rc;
}


void
mcp_hook_keep(mcp_worker_t *worker, mcp_request_t *req, mcp_ending_e how)
{
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = worker->faces;

    for (i = 0; faces[i]; i++) {
        if (faces[i]->keep) {
            faces[i]->keep(req, how);
        }
    }
}


void
mcp_hook_undo(mcp_worker_t *worker, mcp_request_t *req)
{
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = worker->faces;

    for (i = 0; faces[i]; i++) {
        if (faces[i]->undo) {
            faces[i]->undo(req);
        }
    }
}


const mcp_face_t *
mcp_hook_find(const mcp_exchange_t *x, const mcp_method_t *method)
{
    size_t                    i;
    const mcp_face_t *const  *faces;

    faces = x->worker->faces;

    if ((x->session.capabilities & method->capability) == 0) {
        return NULL;
    }

    for (i = 0; faces[i]; i++) {
        if (faces[i]->capability == method->capability) {
            return faces[i];
        }
    }

    return NULL;
}
