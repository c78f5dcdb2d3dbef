/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Bytes from a Redis server, after a first byte that chooses the split of the
 * bytes and the state of the node.  Each split of the bytes must result in the
 * same replies; the node survives any reply and leaves no memory behind.
 */


#include "fuzz_env.h"

#include "cluster_driver.h"

#include "cluster/mcp_cluster_replication.h"


#define MAX  65536

/* Bits of the first byte. LOGGED_IN: the link is logged in. MEMBER, with
 * LOGGED_IN: the node has joined, owns a stream, has a mirror, and has pending
 * queries. INBOUND: the bytes arrive on the inbound connection. */
#define LOGGED_IN  0x01
#define MEMBER   0x02
#define INBOUND    0x04

#define GOOD_JOIN  "*4\r\n$2\r\nOK\r\n:1000\r\n:1\r\n*0\r\n"


static process_t  p;


static void
print(mcp_buf_t *out, const mcp_reply_t *reply)
{
    size_t  i;

    mcp_buf_int(out, reply->type);
    mcp_buf_lit(out, ":");

    switch (reply->type) {

    case MCP_REPLY_NIL:
        must(reply->text.len == 0 && reply->n == 0);
        return;

    case MCP_REPLY_NUMBER:
        mcp_buf_int(out, reply->number);
        return;

    case MCP_REPLY_ARRAY:
        must(reply->n <= MCP_WIRE_ITEMS);

        for (i = 0; i < reply->n; i++) {
            must(reply->items[i] != NULL);
            print(out, reply->items[i]);
        }

        must(mcp_reply_item(reply, reply->n)->type == MCP_REPLY_NIL);
        mcp_buf_lit(out, "]");
        return;

    default:
        mcp_buf_str(out, reply->text);
        (void) mcp_reply_number(reply);
        return;
    }
}


static int
read_all(const char *in, size_t len, size_t step, mcp_buf_t *out)
{
    int                 rc;
    size_t              part;
    mcp_wire_t         *wire;
    const mcp_reply_t  *reply;

    rc = MCP_AGAIN;
    wire = mcp_wire_create(&fuzz_mem, MAX);
    must(wire != NULL);

    while (len > 0 && rc == MCP_AGAIN) {
        part = step < len ? step : len;
        must(mcp_wire_feed(wire, in, part) == MCP_OK);
        in += part;
        len -= part;

        while ((rc = mcp_wire_next(wire, &reply)) == MCP_OK) {
            print(out, reply);
            mcp_buf_lit(out, ";");
        }
    }

    mcp_wire_free(wire);

    return rc;
}


static void
wire(const char *in, size_t len, size_t step)
{
    int        rc, again;
    mcp_buf_t  whole, cut;

    mcp_buf_init(&whole, &fuzz_mem, 1024 * 1024);
    mcp_buf_init(&cut, &fuzz_mem, 1024 * 1024);

    rc = read_all(in, len, SIZE_MAX, &whole);
    again = read_all(in, len, step, &cut);

    must(rc == again);
    must(whole.failed == MCP_OK && cut.failed == MCP_OK);
    must(whole.len == cut.len);
    must(whole.len == 0 || memcmp(whole.data, cut.data, whole.len) == 0);

    mcp_buf_free(&whole);
    mcp_buf_free(&cut);
    must(live == 0);
}


static void
specify(mcp_stream_spec_t *spec, char c)
{
    memset(spec, 0, sizeof(mcp_stream_spec_t));
    memset(spec->id, c, MCP_STREAM_ID_LEN);
    spec->kind = MCP_STREAM_CALL;
    spec->revision = MCP_REVISION_2025_11_25;
    spec->request = mcp_str("7");
    spec->max_wait = 60000;
}


/* Starts a cluster operation for a client that has disconnected. */
static void
start_operation(const mcp_operation_spec_t *spec)
{
    mcp_operation_t  *op;

    op = mcp_mem_calloc(&p.te.env.mem, sizeof(mcp_operation_t));
    must(op != NULL);
    op->worker = p.worker;
    op->rc = MCP_AGAIN;

    if (mcp_cluster_start(p.cluster, spec, op) != MCP_AGAIN) {
        p.te.env.mem.free(p.te.env.mem.ctx, op);
    }
}


/* Starts a cluster operation for stream c. */
static void
start_stream_operation(mcp_operation_kind_e kind, char c)
{
    mcp_operation_spec_t  spec;

    memset(&spec, 0, sizeof(spec));
    spec.kind = kind;
    memset(spec.stream.id, c, MCP_STREAM_ID_LEN);
    spec.stream.task = 1;
    start_operation(&spec);
}


/* Claims stream e for joining requests, and joins stream f. */
static void
joins(void)
{
    mcp_operation_t    *op;
    mcp_cursor_t        cursor;
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;

    specify(&spec, 'e');
    spec.join = (const unsigned char *) "what is asked for";
    spec.held = 1;
    must(mcp_store_create(&p.store, &spec, p.te.now, &ref) == MCP_OK);
    p.worker->cluster_hooks->replicate(p.cluster, &ref, 0);
    op = mcp_mem_calloc(&p.te.env.mem, sizeof(mcp_operation_t));
    must(op != NULL);
    op->worker = p.worker;
    must(p.worker->cluster_hooks->await_replication(p.cluster, &ref, op)
         == MCP_AGAIN);

    specify(&spec, 'f');
    spec.join = (const unsigned char *) "another question";
    must(mcp_store_mirror(&p.store, &spec, 1, 0, 0, p.te.now, &ref)
         == MCP_OK);
    must(mcp_store_join(&p.store, &ref, 5, 0, &cursor) == MCP_OK);
}


static void
start_quota(void)
{
    mcp_operation_spec_t  spec;

    memset(&spec, 0, sizeof(spec));
    spec.kind = MCP_OPERATION_QUOTA;
    spec.quota.session[0] = 's';
    spec.quota.limit = 4;
    start_operation(&spec);
}


static void
start_token(void)
{
    mcp_operation_spec_t  spec;

    memset(&spec, 0, sizeof(spec));
    spec.kind = MCP_OPERATION_TOKEN;
    start_operation(&spec);
}


/* Brings the node into a state in which it owns stream a, has a mirror of b,
 * and has pending queries: for stream c, the states of d, a list, a quota, and
 * a token. */
static void
streams(void)
{
    uint64_t            seq;
    mcp_replication_t  *repl;
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;

    process_receive(&p, GOOD_JOIN);
    must(p.cluster->state == MCP_CLUSTER_MEMBER);

    specify(&spec, 'a');
    must(mcp_store_create(&p.store, &spec, p.te.now, &ref) == MCP_OK);
    p.worker->cluster_hooks->replicate(p.cluster, &ref, 4);
    must(mcp_store_append(&p.store, &ref, mcp_str("{}"), -1,
                          MCP_STATE_PROCESSING, p.te.now, &seq)
         == MCP_OK);

    specify(&spec, 'b');
    must(mcp_store_mirror(&p.store, &spec, 1, 0, 2, p.te.now, &ref)
         == MCP_OK);
    repl = mcp_replication_get(p.cluster, &ref);
    must(repl != NULL);
    repl->number = 2;
    mcp_replication_within(repl, 1);

    start_stream_operation(MCP_OPERATION_STREAM, 'c');
    start_stream_operation(MCP_OPERATION_LOOKUP, 'd');
    start_stream_operation(MCP_OPERATION_LIST, 'd');
    start_quota();
    start_token();
    joins();

    mcp_worker_wake(p.worker);
    process_pump(&p);
}


static void
say(const char *in, size_t len, unsigned how)
{
    if (!(how & INBOUND)) {
        process_input(&p, in, len);
        return;
    }

    p.has_inbound = 1;

    if (p.inbound.connected) {
        mcp_link_opened(&p.cluster->inbound);
        process_pump(&p);
        process_inbound_receive(&p, GOOD_ALL, sizeof(GOOD_ALL) - 1);
        process_inbound_receive(&p, in, len);
    }

    mcp_worker_wake(p.worker);
}


static void
node(const char *in, size_t len, size_t step, unsigned how)
{
    unsigned  i;

    process_init(&p, NULL, 0);
    p.te.env.log_level = MCP_LOG_INFO;
    p.conf.sync = MCP_CLUSTER_SYNC_ON;
    p.has_inbound = (how & INBOUND) != 0;

    if (!(how & LOGGED_IN) && len % 2) {
        p.conf.sentinel = mcp_str("main");
    }

    process_start(&p);
    process_open(&p);

    if (how & LOGGED_IN) {
        process_receive(&p, GOOD_ALL);
        must(p.cluster->link.state == MCP_LINK_UP);
    }

    if ((how & LOGGED_IN) && (how & MEMBER)) {
        streams();
    }

    p.step = step;
    say(in, len, how);

    /* timers must run in any state */

    for (i = 0; i < 3; i++) {
        process_wait(&p, 6000);
    }

    must(p.connects <= 40);
    process_free(&p);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t      step;
    const char *in;

    if (size < 1 || size > 8192) {
        return 0;
    }

    step = data[0] / 8 + 1;
    in = (const char *) data + 1;

    wire(in, size - 1, step);
    node(in, size - 1, step, data[0]);

    return 0;
}
