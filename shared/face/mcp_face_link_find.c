/* SPDX-License-Identifier: Apache-2.0 */

/* The stream that a URL names, and whether the URL is still good for it. */


#include "face/mcp_face_link.h"


mcp_fault_e
mcp_face_link_fault(int rc)
{
    switch (rc) {

    case MCP_ERR_AWAY:
        return MCP_FAULT_CLUSTER_AWAY;

    case MCP_ERR_FULL:
    case MCP_ERR_LIMIT:
        return MCP_FAULT_STORE_FULL;

    default:
        return MCP_FAULT_LINK;
    }
}


void
mcp_face_link_set_turn(mcp_exchange_t *x, mcp_stream_info_t *info,
    uint32_t turn)
{
    mcp_store_t  *store;

    store = x->worker->store;

    while (info->turn < turn
           && mcp_store_set_turn(store, &info->ref, info->turn, turn)
              == MCP_ERR_DENIED
           && mcp_store_info(store, &info->ref, info) == MCP_OK)
    {
        /* void */
    }

    if (info->turn < turn) {
        info->turn = turn;
    }
}


/* Opens the token of the URL. */
static mcp_fault_e
mcp_face_link_open(mcp_exchange_t *x, mcp_face_link_t *link,
    unsigned char data[MCP_FACE_LINK_LEN])
{
    mcp_str_t    token;
    mcp_fault_e  fault;
    char         text[MCP_TOKEN_TEXT_MAX];

    fault = x->head.session_text.len ? mcp_exchange_check_session(x)
                                     : mcp_exchange_check_revision(x);

    if (fault != MCP_FAULT_NONE) {
        return fault;
    }

    token = mcp_face_link_url_decode(link->token, text, sizeof(text));

    if (mcp_face_open_token(x->endpoint->keys, MCP_TOKEN_LINK, token,
                            data, MCP_FACE_LINK_LEN)
        != MCP_OK)
    {
        return MCP_FAULT_LINK;
    }

    link->turn = (uint32_t) mcp_be_get(data + MCP_FACE_LINK_TURN, 4);

    return MCP_FAULT_NONE;
}


/* 1 if the URL of that turn is good for the stream. */
static int
mcp_face_link_is_good(mcp_exchange_t *x, const mcp_face_link_t *link,
    const mcp_stream_info_t *info)
{
    uint32_t  value;

    return (info->kind == MCP_STREAM_LISTEN ? mcp_face_owns(x, info)
                                            : mcp_face_allows(x, info))
           && link->turn >= mcp_face_link_least_turn(info)
           && mcp_store_value_get(x->worker->store, MCP_VALUE_SESSION_ENDED,
                                  info->session, mcp_worker_now(x->worker),
                                  &value)
              != MCP_OK;
}


/* Gets the stream here, at whatever node it is. */
static int
mcp_face_link_fetch(mcp_exchange_t *x, const mcp_face_link_t *link,
    const unsigned char data[MCP_FACE_LINK_LEN], mcp_stream_info_t *info)
{
    int               rc;
    mcp_ask_stream_t  stream;

    mcp_face_describe(x, data, mcp_be_get(data + MCP_FACE_LINK_AFTER, 8),
                      &stream);
    stream.has_turn = 1;
    stream.turn = 2 * link->turn;
    stream.turn_max = 2 * link->turn + 1;

    rc = mcp_ask_stream(x, &stream);

    if (rc != MCP_AGAIN) {
        rc = mcp_face_here(x, rc, data, info);
    }

    return rc == MCP_OK && !mcp_face_link_is_good(x, link, info)
           ? MCP_ERR_NOT_FOUND : rc;
}


int
mcp_face_link_find(mcp_exchange_t *x, mcp_face_link_t *link,
    mcp_stream_info_t *info, uint64_t *after, mcp_fault_e *fault)
{
    int            rc;
    unsigned char  data[MCP_FACE_LINK_LEN];

    *fault = mcp_face_link_open(x, link, data);

    if (*fault != MCP_FAULT_NONE) {
        return MCP_OK;
    }

    /* who reads it now is not disturbed by what will be refused */

    *fault = mcp_face_names(x, data, after);

    if (*fault != MCP_FAULT_NONE) {
        return MCP_OK;
    }

    rc = mcp_face_link_fetch(x, link, data, info);

    if (rc != MCP_OK) {
        *fault = mcp_face_link_fault(rc);
        return rc == MCP_AGAIN || rc == MCP_ERR_MEMORY ? rc : MCP_OK;
    }

    *after = mcp_be_get(data + MCP_FACE_LINK_AFTER, 8);

    if (!x->client.has_session) {
        memcpy(x->client.id, info->session, MCP_DIGEST_LEN);
        memcpy(x->client.principal, info->principal, MCP_DIGEST_LEN);
        x->client.revision = (mcp_revision_e) info->revision;
        x->client.capabilities =
            (unsigned) mcp_be_get(data + MCP_FACE_LINK_CAN, 2);
    }

    /* the client has this URL: those of earlier turns are not good any more */

    mcp_face_link_set_turn(x, info, 2 * link->turn);

    return MCP_OK;
}
