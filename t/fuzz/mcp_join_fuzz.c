/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keys by which equal calls are joined.  The input is the params of a call,
 * except for the name of the tool.
 *
 * The request is sent twice.  The second one joins the call that the first one
 * began, if calls with these params can be joined; then their key is valid by
 * docs/resumption.md.  Both requests get a response.
 */


#define DRIVER_NODES  1
#define DRIVER_ZONE   (256 * 1024)

#include "core_driver.h"


#define must(condition)                                                      \
    if (!(condition)) {                                                      \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
        abort();                                                             \
    }


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);


static driver_t  d;
static client_t  a, b;
static char      session[MCP_SESSION_TEXT_MAX];
static char      body[16384];


static void
begin(void)
{
    char  error[256];

    driver_init(&d);
    mcp_catalog_free(d.catalog);
    must(mcp_catalog_create(&d.te.env.mem, mcp_str("{\"tools\":[{\"name\":"
             "\"pay\",\"inputSchema\":{\"type\":\"object\"},"
             "\"x-mcp-join\":\"key\"}]}"), &d.catalog, error, sizeof(error))
         == MCP_OK);
    d.endpoint.catalog = d.catalog;
    client_open(&d, session, "2025-11-25", "{}");
}


static void
check_key(const mcp_json_value_t *key)
{
    size_t  i;

    must(key->type == MCP_JSON_STRING);
    must(key->raw.len >= 3 && key->raw.len <= 257);

    for (i = 0; i < key->raw.len; i++) {
        must(key->raw.data[i] > ' ' && key->raw.data[i] <= '~'
             && key->raw.data[i] != '\\');
    }
}


static void
again(void)
{
    const mcp_rpc_t  *msg;

    msg = a.x->msg;
    client_post(&d, 0, &b, session, body);

    if (a.x->join == NULL) {
        must(d.n_breqs == 2);
        return;
    }

    must(d.n_breqs == 1 && b.streaming);
    check_key(msg->meta_key.type != MCP_JSON_NONE ? &msg->meta_key
                                                  : &msg->key);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= sizeof(body) / 2 || memchr(data, '\0', size)) {
        return 0;
    }

    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
             "\"tools/call\",\"params\":{\"name\":\"pay\",%.*s}}", (int) size,
             (const char *) data);

    begin();
    client_post(&d, 0, &a, session, body);

    if (d.n_breqs) {
        again();

    } else {
        must(a.status != 0);
    }

    while (d.n_breqs) {
        backend_reply(&d, d.breqs[0], "{\"content\":[]}");
    }

    must(a.ended);
    must(b.x == NULL || b.ended);
    client_close(&d, &a);
    client_close(&d, &b);
    memset(&b, 0, sizeof(b));

    driver_wait(&d, 100000);
    driver_destroy(&d);

    return 0;
}
