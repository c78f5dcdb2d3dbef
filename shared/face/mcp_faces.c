/* SPDX-License-Identifier: Apache-2.0 */

/* The list of all faces.  A new one is a file of its own and a row here; if
 * clients declare it, mcp_session.c has the name of its capability. */


#include "call/mcp_heard.h"
#include "face/mcp_faces.h"


const mcp_face_t *const  mcp_faces[] = {
    &mcp_face_event_id,
    &mcp_face_request,
    &mcp_face_stream,
    &mcp_face_link,
    &mcp_face_token,
    &mcp_face_task,
    NULL
};


mcp_worker_t *
mcp_worker_create(const mcp_env_t *env, mcp_store_t *store,
    const mcp_worker_glue_t *glue)
{
    mcp_worker_t  *worker;

    worker = mcp_worker_create_with_faces(env, store, glue, mcp_faces);

    if (worker) {
        worker->heard = mcp_heard;
    }

    return worker;
}


int
mcp_exchange_secret(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
    mcp_str_t *secret)
{
    size_t  i;

    for (i = 0; mcp_faces[i]; i++) {
        if (mcp_faces[i]->url
            && mcp_faces[i]->url->secret(endpoint, rest, secret))
        {
            return 1;
        }
    }

    return 0;
}
