/* SPDX-License-Identifier: Apache-2.0 */

/* MCP servers without a GET stream. For each server that has responded to GET
 * with HTTP 405, the zone has a value for the time mcp_upstream_check, so that
 * no process sends GET again. */

#include "call/mcp_upstream_listen.h"

#include "call/mcp_call_internal.h"


static int
mcp_upstream_listen_key(const mcp_request_t *req,
    unsigned char key[MCP_DIGEST_LEN])
{
    mcp_str_t              parts[4];
    const mcp_endpoint_t  *endpoint;

    endpoint = req->call->endpoint;

    parts[0] = mcp_str("GET stream of a server");
    parts[1] = endpoint->identity;
    parts[2] = (mcp_str_t) { (const char *) endpoint->catalog_key,
                             MCP_DIGEST_LEN };
    parts[3] = mcp_endpoint_target(endpoint, req->target);

    return mcp_digest(key, parts, 4);
}


int
mcp_upstream_listen_is_refused(const mcp_request_t *req)
{
    uint32_t       value;
    unsigned char  key[MCP_DIGEST_LEN];

    return mcp_upstream_listen_key(req, key) == MCP_OK
           && mcp_store_value_get(req->call->worker->store,
                                  MCP_VALUE_UPSTREAM_NO_STREAM, key,
                                  mcp_call_now(req->call), &value)
              == MCP_OK;
}


void
mcp_upstream_listen_remember(const mcp_request_t *req)
{
    unsigned char  key[MCP_DIGEST_LEN];

    if (mcp_upstream_listen_key(req, key) == MCP_OK) {
        (void) mcp_store_value_set(req->call->worker->store,
                   MCP_VALUE_UPSTREAM_NO_STREAM, key, 1,
                   mcp_call_now(req->call)
                   + req->call->endpoint->targets[req->target].check, NULL);
    }
}
