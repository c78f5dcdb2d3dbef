/* SPDX-License-Identifier: Apache-2.0 */

/* Sessions at MCP servers that several processes or nodes use, in the zone and
 * in Redis: which requests share a session, and how long it is kept. */


#include "call/mcp_call_internal.h"
#include "call/mcp_cancel.h"
#include "call/mcp_upstream_detect.h"
#include "call/mcp_upstream_listen.h"
#include "call/mcp_upstream_session.h"
#include "call/mcp_upstream_wait.h"
#include "config/mcp_tenant.h"
#include "store/mcp_store_upstream.h"
#include "worker/mcp_cluster_operation.h"


/* --- sessions in a cluster --- */

/*
 * The sessions at MCP servers in a cluster: Redis has the session of each
 * caller, so that all nodes use the same one.
 *
 * A request that finds no session in the zone looks it up in Redis, and opens
 * one if Redis has none either. It puts its new session into Redis before it
 * sends the client's request. If another node was faster, the request uses that
 * node's session, and ends its own. If Redis cannot be reached, the session
 * remains one of this node.
 */


/* A pending cluster operation for a session. It is freed when its result
 * arrives, even if the request does not wait any more. */
struct mcp_upstream_lookup_s {
    mcp_worker_t             *worker;
    mcp_upstream_session_t   *session; /* session of the request that waits;
                                          NULL: no request waits */
    mcp_operation_session_e   what;
    mcp_operation_text_t      found;
};


static void
mcp_upstream_cluster_spec(mcp_operation_spec_t *spec,
    mcp_operation_session_e what, const unsigned char key[MCP_DIGEST_LEN],
    mcp_str_t text)
{
    memset(spec, 0, sizeof(mcp_operation_spec_t));

    spec->kind = MCP_OPERATION_UPSTREAM_SESSION;
    spec->session.what = what;
    memcpy(spec->session.key, key, MCP_DIGEST_LEN);
    spec->session.text = text;
    spec->session.lasts = MCP_UPSTREAM_SESSION_KEEP
                          + MCP_UPSTREAM_SESSION_RENEW;
}


/* Keeps a session in the cluster for another day. "text" is its text. */
static void
mcp_upstream_cluster_renew(mcp_request_t *req, mcp_str_t text)
{
    mcp_operation_spec_t  spec;

    mcp_upstream_cluster_spec(&spec, MCP_OPERATION_SESSION_PUT,
                              req->session->key, text);
    (void) mcp_operation_send(req->call->worker, &spec, NULL, NULL);
}


/* Removes the session with this key from the cluster, unless the cluster has
 * one with another text. */
static void
mcp_upstream_cluster_drop(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], mcp_str_t text)
{
    mcp_operation_spec_t  spec;

    mcp_upstream_cluster_spec(&spec, MCP_OPERATION_SESSION_DROP, key, text);
    (void) mcp_operation_send(worker, &spec, NULL, NULL);
}


/* --- sessions in the zone --- */

/* Returns which requests share the session that this request uses at the MCP
 * server: all requests of the client's session, of the principal, or of the
 * call. */
static mcp_upstream_of_e
mcp_upstream_session_sharing(const mcp_request_t *req)
{
    mcp_call_t         *call;
    mcp_upstream_of_e   of;

    call = req->call;
    of = (mcp_upstream_of_e) call->endpoint->targets[req->target].session;

    if (of == MCP_UPSTREAM_OF_CLIENT && !call->client.has_session) {
        of = MCP_UPSTREAM_OF_PRINCIPAL;
    }

    if (call->bare
        || (of == MCP_UPSTREAM_OF_PRINCIPAL
            && mcp_digest_is_nobody(call->client.principal)))
    {
        of = MCP_UPSTREAM_OF_CALL;
    }

    return of;
}


/* Returns 1 if this server declares the client's capabilities in the session.
 * Returns 0 if clients with different capabilities may share the session, or
 * if the backend request is not made for the client. */
static int
mcp_upstream_session_declares(const mcp_request_t *req)
{
    return !req->call->bare
           && req->call->endpoint->targets[req->target].session
              != MCP_UPSTREAM_OF_PRINCIPAL;
}


int
mcp_upstream_session_key(mcp_request_t *req, mcp_upstream_session_t *session)
{
    unsigned char          can[2];
    mcp_str_t              parts[5];
    mcp_call_t            *call;
    const mcp_endpoint_t  *endpoint;

    call = req->call;
    endpoint = call->endpoint;
    session->of = mcp_upstream_session_sharing(req);
    session->own = session->of == MCP_UPSTREAM_OF_CALL;
    session->declares = (mcp_upstream_session_declares(req) != 0);

    if (session->own) {
        memcpy(session->key, call->id, MCP_DIGEST_LEN);
        return MCP_OK;
    }

    parts[0] = session->of == MCP_UPSTREAM_OF_CLIENT
               ? mcp_str("session of a session")
               : mcp_str("session of a principal");
    parts[1] = (mcp_str_t) { (const char *)
                             (session->of == MCP_UPSTREAM_OF_CLIENT
                              ? call->client.id : call->client.principal),
                             MCP_DIGEST_LEN };
    parts[2] = mcp_endpoint_key(endpoint, call->worker->cluster != NULL);
    parts[3] = mcp_endpoint_target_in_cluster(endpoint, req->target);

    /* clients of one principal that have no session with this server share a
     * session at the MCP server if they declare the same capabilities */

    mcp_be_put(can, session->of == MCP_UPSTREAM_OF_PRINCIPAL
                    && session->declares
                    ? call->client.capabilities & MCP_CLIENT_INPUT : 0, 2);
    parts[4] = (mcp_str_t) { (const char *) can, sizeof(can) };

    return mcp_digest(session->key, parts, 5) == MCP_OK ? MCP_OK
                                                        : MCP_ERR_MEMORY;
}


/* Reads the text of a session in the zone: its revision, a space, and its id.
 * Returns 1, or 0 if another version of the module has written the text in
 * another form. */
static int
mcp_upstream_session_parse(mcp_str_t text, mcp_str_t *version, mcp_str_t *id)
{
    mcp_revision_e  revision;

    *version = text;
    version->len = 0;

    while (version->len < text.len && text.data[version->len] != ' ') {
        version->len++;
    }

    revision = mcp_revision_find(*version);

    if (revision == MCP_REVISION_NONE || version->len == text.len
        || text.len - version->len - 1 > MCP_UPSTREAM_SESSION_ID)
    {
        return 0;
    }

    *id = (mcp_str_t) { text.data + version->len + 1,
                        text.len - version->len - 1 };
    *version = mcp_revision(revision)->name;

    return 1;
}


static void
mcp_upstream_session_set(mcp_upstream_session_t *session, mcp_str_t version,
    mcp_str_t id)
{
    session->version = version;
    session->len = id.len;
    memcpy(session->id, id.data, id.len);
}


/* Returns the time, ms, at which a session that is used now expires. This time
 * changes only every MCP_UPSTREAM_SESSION_RENEW ms, so that a session is not
 * renewed at each use. */
static uint64_t
mcp_upstream_session_expires(uint64_t now)
{
    return now - now % MCP_UPSTREAM_SESSION_RENEW + MCP_UPSTREAM_SESSION_RENEW
           + MCP_UPSTREAM_SESSION_KEEP;
}


int
mcp_upstream_session_find(mcp_request_t *req)
{
    int          later;
    char         text[MCP_STORE_TEXT_MAX];
    size_t       len;
    uint64_t     now;
    mcp_str_t    version, id;
    mcp_call_t  *call;

    call = req->call;
    now = mcp_call_now(call);

    if (mcp_store_upstream_session_get(call->worker->store, req->session->key,
                                       now, mcp_upstream_session_expires(now),
                                       now + MCP_UPSTREAM_SESSION_USED, text,
                                       &len, &later)
        != MCP_OK)
    {
        return 0;
    }

    if (!mcp_upstream_session_parse((mcp_str_t) { text, len }, &version, &id)) {
        mcp_store_value_delete(call->worker->store, MCP_VALUE_UPSTREAM_SESSION,
                               req->session->key);
        return 0;
    }

    mcp_upstream_session_set(req->session, version, id);
    req->session->shared = 1;
    mcp_upstream_session_use_begin(call->worker, &req->session->use,
                                   req->session->key);

    if (later) {
        mcp_upstream_cluster_renew(req, (mcp_str_t) { text, len });
    }

    return 1;
}


void
mcp_upstream_session_leave(mcp_upstream_session_t *session)
{
    mcp_upstream_session_use_end(session->req->call->worker, &session->use);
}


/* Writes the revision, a space and the id of a session to "text", and returns
 * the written text. The zone and Redis store sessions in this form. */
static mcp_str_t
mcp_upstream_session_text(const mcp_upstream_session_t *session,
    char text[MCP_STORE_TEXT_MAX])
{
    size_t  len;

    len = session->version.len;
    memcpy(text, session->version.data, len);
    text[len++] = ' ';
    memcpy(text + len, session->id, session->len);

    return (mcp_str_t) { text, len + session->len };
}


/* Adds a session to req->session->dropped, so that the request ends it at the
 * server. "version" has to be static text. When out of memory, the session
 * remains until the server expires it. */
static void
mcp_upstream_session_drop(mcp_request_t *req,
    const unsigned char key[MCP_DIGEST_LEN], mcp_str_t version, mcp_str_t id,
    const char *why)
{
    mcp_upstream_dropped_t  *dropped;

    dropped = mcp_arena_calloc(&req->call->arena,
                               sizeof(mcp_upstream_dropped_t));

    if (dropped) {
        id = mcp_arena_dup(&req->call->arena, id);
    }

    if (dropped && id.data) {
        dropped->next = req->session->dropped;
        dropped->version = version;
        dropped->id = id;
        (void) mcp_stream_id_print(dropped->affinity, key);
        req->session->dropped = dropped;
        mcp_call_trace(req->call, "request %u: will end a session at the MCP "
                                  "server, because %s",
                       req->breq.request, why);
    }
}


/* As mcp_upstream_session_drop(), for a session whose text is in the zone or in
 * Redis. */
static void
mcp_upstream_session_drop_text(mcp_request_t *req,
    const unsigned char key[MCP_DIGEST_LEN], mcp_str_t text, const char *why)
{
    mcp_str_t  version, id;

    if (mcp_upstream_session_parse(text, &version, &id)) {
        mcp_upstream_session_drop(req, key, version, id, why);
    }
}


void
mcp_upstream_session_drop_discovered(mcp_request_t *req, mcp_str_t id)
{
    /* all servers with sessions know the oldest revision that has them */

    mcp_upstream_session_drop(req, req->session->key, mcp_str("2025-03-26"), id,
                              "the server has opened it for server/discover");
}


int
mcp_upstream_session_take_dropped(mcp_upstream_session_t *session)
{
    const mcp_upstream_dropped_t  *dropped;

    dropped = session->dropped;

    if (dropped == NULL) {
        return 0;
    }

    session->dropped = dropped->next;
    session->shared = 1;
    mcp_upstream_session_set(session, dropped->version, dropped->id);
    memcpy(session->affinity, dropped->affinity, MCP_STREAM_TEXT_LEN);

    return 1;
}


/* Adds the session of a request to the zone. If the zone has dropped another
 * session at this server to make room, the request will end the dropped session
 * at the server. Returns the values of mcp_store_upstream_session(). */
static int
mcp_upstream_session_add(mcp_request_t *req)
{
    int                      rc;
    char                     text[MCP_STORE_TEXT_MAX];
    uint64_t                 now;
    mcp_str_t                removed;
    mcp_call_t              *call;
    mcp_tenant_t             tenant;
    mcp_store_dropped_t      dropped;
    mcp_store_session_t      item;
    mcp_upstream_session_t  *session;

    call = req->call;
    session = req->session;
    now = mcp_call_now(call);

    mcp_tenant(call->endpoint, call->tenant, &tenant);

    item.row = req->upstream;
    item.key = session->key;
    item.text = mcp_upstream_session_text(session, text);
    item.expires = mcp_upstream_session_expires(now);
    item.tenant = &tenant;
    item.max = call->endpoint->targets[req->target].max_sessions;
    item.until = now + MCP_UPSTREAM_SESSION_USED;

    rc = mcp_store_upstream_session(call->worker->store, &item, now, &dropped);

    if (rc == MCP_OK) {
        mcp_upstream_session_use_begin(call->worker, &session->use,
                                       session->key);
    }

    if (dropped.len) {
        removed = (mcp_str_t) { dropped.text, dropped.len };
        mcp_upstream_cluster_drop(call->worker, dropped.key, removed);
        mcp_upstream_session_drop_text(req, dropped.key, removed,
                                       "the zone has too many of them");
    }

    return rc;
}


/* Adds a new session of a request to the zone. Sets session->own instead if
 * another request of the caller has added a session in the meantime, or if the
 * zone or mcp_upstream_max_sessions leaves no room. */
static void
mcp_upstream_session_keep(mcp_request_t *req)
{
    char                     buf[MCP_STORE_TEXT_MAX];
    mcp_upstream_session_t  *session;

    session = req->session;
    session->shared = mcp_upstream_session_add(req) == MCP_OK;
    session->own = !session->shared;

    if (session->own) {
        mcp_upstream_cluster_drop(req->call->worker, session->key,
                                  mcp_upstream_session_text(session, buf));
    }
}


void
mcp_upstream_session_share(mcp_request_t *req)
{
    mcp_call_t              *call;
    mcp_upstream_session_t  *session;

    call = req->call;
    session = req->session;

    if (session->own) {
        return;
    }

    /* if the client has ended its session with this server meanwhile, no other
     * request will use the session at the MCP server */

    if (session->of == MCP_UPSTREAM_OF_CLIENT
        && mcp_cancel_has_ended(call->worker, call->client.id))
    {
        session->own = 1;
        return;
    }

    /* in a cluster, other requests do not get the new session before Redis has
     * it, because the new session is ended if another node was faster */

    if (call->worker->cluster) {
        session->is_new = 1;

    } else {
        mcp_upstream_session_keep(req);
    }
}


/* Called with the text of a session from Redis, which another node has opened.
 * Makes this session the session of the request, and adds it to the zone. Adds
 * a session that the request itself has opened to session->dropped.
 * Returns 1, or 0 if the text is invalid. */
static int
mcp_upstream_session_adopt(mcp_request_t *req, mcp_str_t text)
{
    char                     own[MCP_STORE_TEXT_MAX];
    mcp_str_t                version, id;
    mcp_upstream_session_t  *session;

    session = req->session;

    if (!mcp_upstream_session_parse(text, &version, &id)) {
        return 0;
    }

    if (session->version.len) {
        mcp_upstream_session_drop_text(req, session->key,
                                       mcp_upstream_session_text(session, own),
                                       "another node opened a session earlier");
    }

    mcp_upstream_session_set(session, version, id);
    session->shared = 1;

    /* the request ends this session at the server, so the session is not added
     * to the zone */

    if (session->step == MCP_UPSTREAM_STEP_CLOSE) {
        return 1;
    }

    /* another process of this node has added a session meanwhile: uses the
     * session in the zone */

    if (mcp_upstream_session_add(req) == MCP_ERR_EXISTS) {
        (void) mcp_upstream_session_find(req);
    }

    return 1;
}


void
mcp_upstream_session_forget(mcp_request_t *req)
{
    char                     buf[MCP_STORE_TEXT_MAX];
    mcp_str_t                text;
    mcp_upstream_session_t  *session;

    session = req->session;

    mcp_upstream_listen_leave(session);
    session->listened = 0;
    session->postponed = 0;

    if (session->shared) {
        text = mcp_upstream_session_text(session, buf);
        (void) mcp_store_text_delete(req->call->worker->store,
                                     MCP_VALUE_UPSTREAM_SESSION, session->key,
                                     text);
        mcp_upstream_cluster_drop(req->call->worker, session->key, text);
    }

    session->version = mcp_null_str;
    session->len = 0;
    session->shared = 0;
}


/* --- operations that a request waits for --- */

/* Called when a request no longer waits for its cluster operation. Separates
 * the session of the request from the operation. */
static void
mcp_upstream_cluster_detach(mcp_upstream_session_t *session)
{
    mcp_request_t  *req;

    session->lookup->session = NULL;
    session->lookup = NULL;
    session->wait_until = 0;

    /* removes the action MCP_ACT_PREPARE, which may still be in the queue */

    req = session->req;
    mcp_worker_unqueue(req->call->worker, &req->breq.queued);
}


void
mcp_upstream_cluster_leave(mcp_upstream_session_t *session)
{
    char                     text[MCP_STORE_TEXT_MAX];
    mcp_operation_session_e  what;

    if (session->lookup == NULL) {
        return;
    }

    what = session->lookup->what;
    mcp_upstream_cluster_detach(session);

    /* the request is over and ends its session at the MCP server: removes the
     * session from Redis, so that no other node uses it */

    if (what == MCP_OPERATION_SESSION_PUT) {
        mcp_upstream_cluster_drop(session->req->call->worker, session->key,
                                  mcp_upstream_session_text(session, text));
    }
}


/* Called when a request has got its session from the cluster, so that it need
 * not open one. */
static void
mcp_upstream_cluster_fetched(mcp_request_t *req)
{
    mcp_upstream_session_t  *session;

    session = req->session;
    session->fetched = 1;

    if (mcp_endpoint_upstream(req->call->endpoint, req->target)
        == MCP_UPSTREAM_AUTO)
    {
        mcp_upstream_form_found(req, MCP_UPSTREAM_SESSION, session->version);
    }

    mcp_upstream_session_set_step(req, MCP_UPSTREAM_STEP_CALL);
    mcp_upstream_wait_release(session, MCP_FAULT_NONE);
}


/* Continues a request when its cluster operation has ended. "text" is the text
 * of the session that another node has opened, empty if there is none. */
static void
mcp_upstream_cluster_result(mcp_upstream_session_t *session,
    mcp_operation_session_e what, mcp_str_t text)
{
    mcp_request_t  *req;

    req = session->req;
    mcp_upstream_cluster_detach(session);

    if (text.len && mcp_upstream_session_adopt(req, text)) {

        if (what == MCP_OPERATION_SESSION_GET) {
            mcp_upstream_cluster_fetched(req);
        }

    } else if (what == MCP_OPERATION_SESSION_PUT) {
        mcp_upstream_session_keep(req);

    } else if (what == MCP_OPERATION_SESSION_TAKE) {

        /* the client has no session at the MCP server: nothing to end */

        (void) mcp_call_finish_plain(req, mcp_str("{}"), MCP_OUTCOME_OK);
        mcp_call_set_timer(req->call);
        return;
    }

    mcp_upstream_wait_start(req, MCP_FAULT_NONE);
}


static void
mcp_upstream_cluster_done(void *data, int rc)
{
    mcp_str_t               text;
    mcp_call_t             *call;
    mcp_upstream_lookup_t  *lookup;

    lookup = data;

    if (lookup->session) {
        call = lookup->session->req->call;
        mcp_call_retain(call);

        text = (mcp_str_t) { lookup->found.text, lookup->found.len };

        if (rc != (lookup->what == MCP_OPERATION_SESSION_PUT ? MCP_ERR_EXISTS
                                                             : MCP_OK))
        {
            text = mcp_null_str;
        }

        mcp_upstream_cluster_result(lookup->session, lookup->what, text);
        mcp_call_release(call);
    }

    mcp_mem_free(&lookup->worker->env->mem, lookup);
}


/* Starts a cluster operation for the session of a request. Returns MCP_AGAIN if
 * the request has to wait. Returns MCP_OK if there is no operation to wait for,
 * because there is no cluster, Redis cannot be reached or there is no
 * memory. */
static int
mcp_upstream_cluster_start(mcp_request_t *req, mcp_operation_session_e what,
    mcp_str_t text)
{
    mcp_worker_t           *worker;
    mcp_operation_spec_t    spec;
    mcp_upstream_lookup_t  *lookup;

    worker = req->call->worker;

    if (worker->cluster == NULL) {
        return MCP_OK;
    }

    lookup = mcp_mem_calloc(&worker->env->mem, sizeof(mcp_upstream_lookup_t));
    if (lookup == NULL) {
        return MCP_OK;
    }

    lookup->worker = worker;
    lookup->what = what;

    mcp_upstream_cluster_spec(&spec, what, req->session->key, text);
    spec.session.found = &lookup->found;

    if (mcp_operation_send(worker, &spec, mcp_upstream_cluster_done, lookup)
        != MCP_AGAIN)
    {
        mcp_mem_free(&worker->env->mem, lookup);
        return MCP_OK;
    }

    lookup->session = req->session;
    req->session->lookup = lookup;
    req->session->wait_until = mcp_call_now(req->call) + MCP_OPERATION_TIME;

    return MCP_AGAIN;
}


int
mcp_upstream_cluster_find(mcp_request_t *req)
{
    if (req->session->looked_up) {
        return MCP_OK;
    }

    req->session->looked_up = 1;

    return mcp_upstream_cluster_start(req, MCP_OPERATION_SESSION_GET,
                                      mcp_null_str);
}


int
mcp_upstream_cluster_take(mcp_request_t *req)
{
    return mcp_upstream_cluster_start(req, MCP_OPERATION_SESSION_TAKE,
                                      mcp_null_str);
}


int
mcp_upstream_cluster_put(mcp_request_t *req)
{
    int                      rc;
    char                     text[MCP_STORE_TEXT_MAX];
    mcp_upstream_session_t  *session;

    session = req->session;

    if (!session->is_new) {
        return MCP_OK;
    }

    session->is_new = 0;

    rc = mcp_upstream_cluster_start(req, MCP_OPERATION_SESSION_PUT,
                                    mcp_upstream_session_text(session, text));

    if (rc == MCP_OK) {
        mcp_upstream_session_keep(req);
    }

    return rc;
}


int
mcp_upstream_cluster_timeout(mcp_request_t *req)
{
    if (req->session->lookup == NULL) {
        return 0;
    }

    mcp_call_log(req->call, MCP_LOG_WARN,
                 "continues with a session at the MCP server for this node "
                 "alone",
                 "Redis did not reply within 1 s");
    mcp_upstream_cluster_result(req->session, req->session->lookup->what,
                                mcp_null_str);

    return 1;
}
