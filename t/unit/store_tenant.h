/* SPDX-License-Identifier: Apache-2.0 */

/* Common parts of the tests of tenants: streams and values of numbered
 * tenants, all with the same quota. */


#ifndef STORE_TENANT_H_INCLUDED
#define STORE_TENANT_H_INCLUDED


#include "store_fixture.h"


static unsigned  numbers;
static uint64_t  quota;                /* quota of each tenant */


static inline int
setup_numbers(void **state)
{
    numbers = 0;
    quota = MCP_QUOTA_SHARE;

    return setup(state);
}


static inline mcp_tenant_t
tenant(unsigned id)
{
    mcp_tenant_t  p;

    memset(p.id, (int) id, MCP_DIGEST_LEN);
    p.streams = quota;
    p.listeners = quota;
    p.values = quota;
    p.bytes = quota;

    return p;
}


/* Creates a stream of a tenant. It uses only low numbers of sessions, because
 * teardown() searches these. */
static inline int
make(unsigned id, mcp_stream_kind_e kind, mcp_stream_ref_t *ref)
{
    mcp_stream_spec_t  spec;

    store_spec(&spec, ++numbers, 1 + id);
    spec.kind = kind;
    spec.tenant = tenant(id);

    return mcp_store_create(S0, &spec, 1, ref);
}


static inline void
made(unsigned id, mcp_stream_kind_e kind, mcp_stream_ref_t *ref)
{
    assert_ok(make(id, kind, ref));
}


static inline void
left(const mcp_stream_ref_t *ref, uint64_t sent)
{
    int           taken;
    mcp_cursor_t  cursor;

    assert_ok(mcp_store_watch(S1, ref, 5, 0, &cursor, &taken));
    mcp_store_unwatch(S1, ref, 5, sent, 10);
}


/* Creates a call that is over and whose event was sent, so that its stream
 * lingers. */
static inline void
lingering(unsigned id, size_t len, mcp_stream_ref_t *ref)
{
    made(id, MCP_STREAM_CALL, ref);
    assert_ok(store_append(&d, 0, ref, store_message(1, len), 0,
                           MCP_STATE_COMPLETED));
    left(ref, 1);
}


static inline int
there(const mcp_stream_ref_t *ref)
{
    mcp_stream_info_t  info;

    return mcp_store_info(S0, ref, &info) == MCP_OK;
}


/* Appends events to a stream until only "room" chunks are free. */
static inline void
fill(const mcp_stream_ref_t *ref, uint32_t room)
{
    while (mcp_store_room(d.store[0].head, 0) > room) {
        assert_ok(store_append(&d, 0, ref, store_message(1, 460), -1,
                               MCP_STATE_PROCESSING));
    }
}


static inline int
admits(unsigned id)
{
    mcp_tenant_t   p = tenant(id);
    unsigned char  session[MCP_DIGEST_LEN] = { 0 };

    return mcp_store_admits(S0, session, 0, &p);
}


static inline int
keep(unsigned id, unsigned n)
{
    mcp_tenant_t   p = tenant(id);
    unsigned char  key[MCP_DIGEST_LEN] = { 0 };

    key[0] = (unsigned char) id;
    memcpy(key + 4, &n, sizeof(n));

    return mcp_store_value_set(S0, 'd', key, 1, 100, id ? &p : NULL);
}


#endif /* STORE_TENANT_H_INCLUDED */
