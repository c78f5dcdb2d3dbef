/* SPDX-License-Identifier: Apache-2.0 */

/* Finding the stream of a URL, and checking whether the URL is still valid for
 * it. */


#include "resume/mcp_resume_by_link.h"


mcp_fault_e
mcp_resume_link_fault(int rc)
{
    switch (rc) {

    case MCP_ERR_UNREACHABLE:
        return MCP_FAULT_CLUSTER_UNREACHABLE;

    case MCP_ERR_FULL:
    case MCP_ERR_LIMIT:
        return MCP_FAULT_STORE_FULL;

    default:
        return MCP_FAULT_LINK;
    }
}


void
mcp_resume_link_set_generation(mcp_exchange_t *x, mcp_stream_info_t *info,
    uint32_t generation)
{
    mcp_store_t  *store;

    store = x->worker->store;

    while (info->generation < generation
           && mcp_store_set_generation(store, &info->ref, info->generation,
                                       generation)
              == MCP_ERR_DENIED
           && mcp_store_info(store, &info->ref, info) == MCP_OK)
    {
        /* void */
    }

    if (info->generation < generation) {
        info->generation = generation;
    }
}


/* Checks the session or the revision of the request, opens the token of the
 * URL, and copies its payload to data. */
static mcp_fault_e
mcp_resume_link_open(mcp_exchange_t *x, mcp_resume_link_t *link,
    unsigned char data[MCP_RESUME_LINK_LEN])
{
    mcp_str_t    token;
    mcp_fault_e  fault;
    char         text[MCP_TOKEN_TEXT_MAX];

    fault = x->head.session_text.len ? mcp_exchange_check_session(x)
                                     : mcp_exchange_check_revision(x);

    if (fault != MCP_FAULT_NONE) {
        return fault;
    }

    token = mcp_resume_link_url_decode(link->token, text, sizeof(text));

    if (mcp_token_verify(x->endpoint->keys, MCP_TOKEN_LINK, token, data,
                         MCP_RESUME_LINK_LEN)
        != MCP_OK)
    {
        return MCP_FAULT_LINK;
    }

    link->generation =
        (uint32_t) mcp_be_get(data + MCP_RESUME_LINK_GENERATION, 4);

    return MCP_FAULT_NONE;
}


/* Returns 1 if the URL is valid for the stream: the client may read the
 * stream, the URL's generation is not below the lowest valid one, and the
 * session has not ended. */
static int
mcp_resume_link_is_good(mcp_exchange_t *x, const mcp_resume_link_t *link,
    const mcp_stream_info_t *info)
{
    uint32_t  value;

    return (info->kind == MCP_STREAM_LISTEN ? mcp_resume_owns(x, info)
                                            : mcp_resume_allows(x, info))
           && link->generation >= mcp_resume_link_least_generation(info)
           && mcp_store_value_get(x->worker->store, MCP_VALUE_SESSION_ENDED,
                                  info->session, mcp_worker_now(x->worker),
                                  &value)
              != MCP_OK;
}


/* Makes the stream available at this node, and checks whether the URL is valid
 * for it. Returns the values of mcp_resume_fetch(). Runs again after
 * MCP_AGAIN. */
static int
mcp_resume_link_fetch(mcp_exchange_t *x, const mcp_resume_link_t *link,
    const unsigned char data[MCP_RESUME_LINK_LEN], mcp_stream_info_t *info)
{
    int                     rc;
    mcp_operation_stream_t  stream;

    mcp_resume_describe(x, data, mcp_be_get(data + MCP_RESUME_LINK_AFTER, 8),
                        &stream);
    stream.has_generation = 1;
    stream.generation = 2 * link->generation;
    stream.generation_max = 2 * link->generation + 1;

    rc = mcp_operation_stream(x, MCP_OPERATION_STREAM, &stream);

    if (rc != MCP_AGAIN) {
        rc = mcp_resume_here(x, rc, data, info);
    }

    return rc == MCP_OK && !mcp_resume_link_is_good(x, link, info)
           ? MCP_ERR_NOT_FOUND : rc;
}


/* Runs again after MCP_AGAIN. */
int
mcp_resume_link_find(mcp_exchange_t *x, mcp_resume_link_t *link,
    mcp_stream_info_t *info, uint64_t *after, mcp_fault_e *fault)
{
    int            rc;
    unsigned char  data[MCP_RESUME_LINK_LEN];

    *fault = mcp_resume_link_open(x, link, data);

    if (*fault != MCP_FAULT_NONE) {
        return MCP_OK;
    }

    /* a request that will be rejected must not displace the consumer */

    *fault = mcp_resume_names(x, data, after);

    if (*fault != MCP_FAULT_NONE) {
        return MCP_OK;
    }

    rc = mcp_resume_link_fetch(x, link, data, info);

    if (rc != MCP_OK) {
        *fault = mcp_resume_link_fault(rc);
        return rc == MCP_AGAIN || rc == MCP_ERR_MEMORY ? rc : MCP_OK;
    }

    *after = mcp_be_get(data + MCP_RESUME_LINK_AFTER, 8);

    if (!x->client.has_session) {
        memcpy(x->client.id, info->session, MCP_DIGEST_LEN);
        memcpy(x->client.principal, info->principal, MCP_DIGEST_LEN);
        x->client.revision = (mcp_revision_e) info->revision;
        x->client.capabilities =
            (unsigned) mcp_be_get(data + MCP_RESUME_LINK_CAN, 2);
    }

    /* the client uses this URL: URLs of earlier generations are no longer
     * valid */

    mcp_resume_link_set_generation(x, info, 2 * link->generation);

    return MCP_OK;
}
