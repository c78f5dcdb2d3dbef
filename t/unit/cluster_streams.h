/* SPDX-License-Identifier: Apache-2.0 */

/* Streams that the nodes of cluster_redis.h share. All bytes of a stream's id
 * are the same letter. */


#ifndef CLUSTER_STREAMS_H_INCLUDED
#define CLUSTER_STREAMS_H_INCLUDED


#include "cluster_redis.h"

#include "cluster/mcp_cluster_replication.h"


#define HANDLE  77


static inline const unsigned char *
id_of(char c)
{
    static unsigned char  id[MCP_STREAM_ID_LEN];

    memset(id, c, sizeof(id));

    return id;
}


/* Runs the command "WHAT PREFIX:1:KIND:STREAM REST" by command() and returns
 * its reply. */
static inline const char *
about(int i, const char *what, char kind, char c, const char *rest)
{
    char         text[128], name[MCP_STREAM_TEXT_LEN + 1];
    char        *end;

    end = mcp_stream_id_print(name, id_of(c));
    *end = '\0';
    snprintf(text, sizeof(text), "%s {mcp}:1:%c:%s %s", what, kind, name, rest);

    return command(i, text);
}


static inline int
find(int i, char c, mcp_stream_info_t *info)
{
    return mcp_store_find(&nodes[i].store, id_of(c), 0, info);
}


static inline int
is_at(int i, char c)
{
    mcp_stream_info_t  info;

    return find(i, c, &info) == MCP_OK;
}


static inline mcp_stream_info_t
info_of(int i, char c)
{
    mcp_stream_info_t  info;

    assert_ok(find(i, c, &info));

    return info;
}


/* Returns the replication state of stream c at node i, where c may be a
 * mirror. */
static inline mcp_store_replication_state_t
repl_state(int i, char c)
{
    mcp_stream_info_t        info = info_of(i, c);
    mcp_store_replication_state_t  out;

    assert_ok(mcp_store_replication_state(&nodes[i].store, &info.ref, &out));

    return out;
}


/* Returns the phase of the replicator of stream c at node i. The number of
 * pending commands at the link does not show that a command of the replicator
 * is pending, because a heartbeat may be pending, too. */
static inline mcp_replication_phase_e
repl_phase(int i, char c)
{
    mcp_stream_info_t  info = info_of(i, c);

    return mcp_replication_get(nodes[i].cluster, &info.ref)->phase;
}


static inline void
fill_spec(mcp_stream_spec_t *spec, char c)
{
    memset(spec, 0, sizeof(mcp_stream_spec_t));
    memcpy(spec->id, id_of(c), MCP_STREAM_ID_LEN);
    memset(spec->session, 's', MCP_DIGEST_LEN);
    memset(spec->principal, 'p', MCP_DIGEST_LEN);

    /* all streams have the same tenant, so that none is evicted for another
     * tenant */

    memset(spec->tenant.id, 't', MCP_DIGEST_LEN);
    spec->tenant.streams = MCP_QUOTA_OFF;
    spec->tenant.listeners = MCP_QUOTA_OFF;
    spec->tenant.values = MCP_QUOTA_OFF;
    spec->tenant.bytes = MCP_QUOTA_OFF;
    spec->kind = MCP_STREAM_CALL;
    spec->revision = MCP_REVISION_2025_11_25;
    spec->request = mcp_str("7");
    spec->method = mcp_str("tools/call");
    spec->name = mcp_str("count");
    spec->max_wait = 60000;
    spec->linger = 1000;
}


/* Creates stream c with a consumer at node i, and replicates it. limit is the
 * maximum number of calls of its session, 0 for none. */
static inline void
make_of(int i, char c, uint32_t limit)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    fill_spec(&spec, c);
    assert_ok(mcp_store_create(&nodes[i].store, &spec, real_now(), &ref));
    assert_ok(mcp_store_watch(&nodes[i].store, &ref, HANDLE, 0, &cursor,
                              &taken));
    nodes[i].worker->cluster_hooks->replicate(nodes[i].cluster, &ref, limit);
}


static inline void
make(int i, char c)
{
    make_of(i, c, 0);
}


static inline void
add(int i, char c, const char *text, int answers, mcp_stream_state_e state)
{
    uint64_t           seq;
    mcp_stream_info_t  info = info_of(i, c);

    assert_ok(mcp_store_append(&nodes[i].store, &info.ref, test_str(text),
                               answers, state, real_now(), &seq));
}


static inline void
add_events(int i, char c, unsigned n)
{
    while (n--) {
        add(i, c, "{\"method\":\"x\"}", -1, MCP_STATE_PROCESSING);
    }
}


/* Adds n events to stream c at node i, and waits until Redis has acknowledged
 * them. */
static inline void
add_acked(int i, char c, unsigned n)
{
    add_events(i, c, n);
    UNTIL(repl_state(i, c).acked.seq == repl_state(i, c).own.seq);
}


/*
 * Fills the parameters of a cluster operation by which a client resumes stream
 * c: "after" is the last event that the client has, "session" the letter of
 * its session. resume_start_with() and resume_start() start such an operation
 * at node i; come() also waits for the reply of Redis.
 */
static inline void
describe(mcp_operation_stream_t *stream, char c, uint64_t after, char session)
{
    memset(stream, 0, sizeof(mcp_operation_stream_t));
    memcpy(stream->id, id_of(c), MCP_STREAM_ID_LEN);
    memset(stream->session, session, MCP_DIGEST_LEN);
    memset(stream->principal, 'p', MCP_DIGEST_LEN);
    stream->after = after;
}


/* Starts an operation of a kind on a stream at node i. Returns the value of
 * mcp_cluster_start(). */
static inline int
start_stream(int i, mcp_operation_kind_e kind,
    const mcp_operation_stream_t *stream, mcp_operation_t *op)
{
    mcp_operation_spec_t  spec;

    spec.kind = kind;
    spec.stream = *stream;

    return mcp_cluster_start(nodes[i].cluster, &spec, op);
}


static inline void
resume_start_with(int i, const mcp_operation_stream_t *stream)
{
    mcp_operation_t  *op;

    op = mcp_mem_calloc(&nodes[i].te.env.mem, sizeof(mcp_operation_t));
    assert_non_null(op);
    op->worker = nodes[i].worker;
    op->rc = MCP_AGAIN;

    assert_int_equal(start_stream(i, MCP_OPERATION_STREAM, stream, op),
                     MCP_AGAIN);
}


static inline void
resume_start(int i, char c, uint64_t after, char session)
{
    mcp_operation_stream_t  stream;

    describe(&stream, c, after, session);
    resume_start_with(i, &stream);
}


static inline void
come(int i, char c, uint64_t after, char session)
{
    resume_start(i, c, after, session);
    run(i);
}


/* Returns the number of streams and mirrors that the process of node i
 * replicates or feeds. */
static inline unsigned
n_replications(int i)
{
    size_t              k;
    unsigned            n = 0;
    mcp_replication_t  *repl;

    for (k = 0; k < MCP_CLUSTER_BUCKETS; k++) {
        for (repl = nodes[i].cluster->repls[k]; repl; repl = repl->next) {
            n++;
        }
    }

    return n;
}


/* Sends the pending commands of node i to Redis and waits for the first reply,
 * which is not read. */
static inline void
deliver(int i)
{
    process_t      *p = &nodes[i];
    struct pollfd   reply = { fds[i], POLLIN, 0 };

    process_pump(p);
    assert_true(p->taken < p->len);
    assert_int_equal(write(fds[i], p->sent + p->taken, p->len - p->taken),
                     p->len - p->taken);
    p->taken = p->len;
    assert_int_equal(poll(&reply, 1, 10000), 1);
}


/* Closes the link of node i: all pending commands stay without a reply. */
static inline void
cut_off(int i)
{
    process_pump(&nodes[i]);
    assert_true(nodes[i].connected);
    close(fds[i]);
    fds[i] = -1;
    process_lose(&nodes[i], "the test");
}


/*
 * Attaches a consumer to stream c at node i, after event "after", and reads
 * all later events. Returns the result of the final mcp_store_watch() or
 * mcp_store_read(), and sets *seq to the number of the last event that was
 * read.
 */
static inline int
read_from(int i, char c, uint64_t after, uint64_t *seq)
{
    int                rc, taken;
    char               buf[4096];
    size_t             len;
    mcp_cursor_t       cursor;
    mcp_stream_info_t  info = info_of(i, c);

    rc = mcp_store_watch(&nodes[i].store, &info.ref, HANDLE, after, &cursor,
                         &taken);

    while (rc == MCP_OK) {
        rc = mcp_store_read(&nodes[i].store, &info.ref, HANDLE, &cursor,
                            cursor.seq, buf, sizeof(buf), &len);
    }

    *seq = cursor.seq;

    return rc;
}


static inline void
leave(int i, char c, uint64_t sent)
{
    mcp_stream_info_t  info = info_of(i, c);

    mcp_store_unwatch(&nodes[i].store, &info.ref, HANDLE, sent, real_now());
}


/* Empties Redis, and sets PREFIX:1:since to 0, so that no node finds that keys
 * were lost. */
static inline void
empty_redis(int i)
{
    (void) command(i, "FLUSHALL");
    tick(i);
    (void) command(i, "SET {mcp}:1:since 0 EX 600");
}


static inline void
begin_all(int n)
{
    int  i;

    has_inbound = 1;

    for (i = 0; i < n; i++) {
        begin(i, KEY1);

        if (i == 0) {
            empty_redis(0);
        }
    }

    for (i = 0; i < n; i++) {
        UNTIL(nodes[i].cluster->reading);
    }
}


/* Starts n nodes, and creates stream "a" at node 0 with "events" events. Waits
 * until Redis has the stream with all these events. */
static inline void
begin_replicated(int n, unsigned events)
{
    begin_all(n);
    make(0, 'a');
    add_events(0, 'a', events);
    UNTIL(repl_state(0, 'a').created
          && repl_state(0, 'a').acked.seq == events);
}


#endif /* CLUSTER_STREAMS_H_INCLUDED */
