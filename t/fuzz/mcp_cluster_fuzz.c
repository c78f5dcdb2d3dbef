/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a server of a cluster says, after a first byte that says how to cut it
 * and how far the link is.  The replies are those of the whole text read at
 * once; the link survives whatever they are, and leaves nothing behind.
 */


#include "fuzz_env.h"

#include "cluster_driver.h"


#define MAX  65536


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
    wire = mcp_wire_create(&mem, MAX);
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

    mcp_buf_init(&whole, &mem, 1024 * 1024);
    mcp_buf_init(&cut, &mem, 1024 * 1024);

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
node(const char *in, size_t len, size_t step, unsigned greeted)
{
    unsigned  i;

    process_init(&p, NULL, 0);
    p.te.env.log_level = MCP_LOG_INFO;

    if (!greeted && len % 2) {
        p.conf.sentinel = mcp_str("main");
    }

    process_start(&p);
    process_open(&p);

    if (greeted) {
        process_say(&p, GOOD_ALL);
        must(p.cluster->link.state == MCP_LINK_UP);
    }

    p.step = step;
    process_input(&p, in, len);

    /* it goes on by itself, in whatever state it is */

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

    step = data[0] / 2 + 1;
    in = (const char *) data + 1;

    wire(in, size - 1, step);
    node(in, size - 1, step, data[0] & 1);

    return 0;
}
