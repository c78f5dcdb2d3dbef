/* SPDX-License-Identifier: Apache-2.0 */

#include "base/mcp_uri.h"
#include "config/mcp_item_access.h"
#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_listen_filter.h"
#include "exchange/mcp_permission.h"


#define MCP_LISTEN_URIS  1000


/* Values of mcp_listen_member_t.list for the members of a filter that do not
 * select a list. They follow the values of mcp_topic_e. */
enum {
    MCP_LISTEN_URI = MCP_TOPIC_COUNT,
    MCP_LISTEN_TASK
};


typedef struct {
    mcp_str_t    name;         /* name of the filter's member */
    unsigned     list;         /* list that the member selects, a mcp_topic_e;
                                  or MCP_LISTEN_URI, or MCP_LISTEN_TASK */
    mcp_list_e   kinds[2];     /* the endpoint accepts the member if it offers
                                  items of at least one kind in this array */
} mcp_listen_member_t;


static const mcp_listen_member_t  mcp_listen_members[] = {
    { mcp_str("toolsListChanged"), MCP_TOPIC_TOOLS,
      { MCP_LIST_TOOLS, MCP_LIST_TOOLS } },
    { mcp_str("promptsListChanged"), MCP_TOPIC_PROMPTS,
      { MCP_LIST_PROMPTS, MCP_LIST_PROMPTS } },
    { mcp_str("resourcesListChanged"), MCP_TOPIC_RESOURCES,
      { MCP_LIST_RESOURCES, MCP_LIST_TEMPLATES } },
    { mcp_str("resourceSubscriptions"), MCP_LISTEN_URI,
      { MCP_LIST_RESOURCES, MCP_LIST_TEMPLATES } },
    { mcp_str("taskIds"), MCP_LISTEN_TASK, { MCP_LIST_TOOLS, MCP_LIST_TOOLS } }
};

#define MCP_LISTEN_MEMBERS                                                    \
    (sizeof(mcp_listen_members) / sizeof(mcp_listen_members[0]))


static int
mcp_listen_read_uris(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_listen_filter_t *filter)
{
    int               rc;
    size_t            n;
    mcp_str_t         uri;
    mcp_arena_mark_t  mark;
    mcp_json_iter_t   iter;
    mcp_json_value_t  element;

    if (value->type != MCP_JSON_ARRAY) {
        return MCP_ERR_SYNTAX;
    }

    filter->uris = value->raw;
    mcp_json_iter_init(&iter, value->raw);

    for (n = 0; mcp_json_iter_next(&iter, NULL, &element); n++) {
        mark = mcp_arena_mark(&x->arena);
        rc = mcp_routing_string(x, &element, &uri);
        mcp_arena_release(&x->arena, mark);

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return n > MCP_LISTEN_URIS ? MCP_ERR_SYNTAX : MCP_OK;
}


/* Reads the member "taskIds" of a filter. If the endpoint does not create
 * tasks, ignores the member like an unknown one. Returns MCP_OK, MCP_ERR_DENIED
 * if the client has not declared the tasks extension, or an error of
 * mcp_listen_task_filter(). */
static int
mcp_listen_read_tasks(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_listen_filter_t *filter)
{
    if (!mcp_endpoint_makes_tasks(x->endpoint)) {
        return MCP_OK;
    }

    return x->client.capabilities & MCP_CLIENT_TASKS
           ? mcp_listen_task_filter(x, value, &filter->tasks)
           : MCP_ERR_DENIED;
}


/* Reads one member of a filter. Returns MCP_OK, MCP_ERR_SYNTAX if the member is
 * invalid, MCP_ERR_DENIED if the client has not declared the tasks extension
 * that the member needs, or another error of mcp_listen_task_filter(). */
static int
mcp_listen_read_member(mcp_exchange_t *x, const mcp_listen_member_t *member,
    const mcp_json_value_t *value, mcp_listen_filter_t *filter)
{
    if (member->list == MCP_LISTEN_URI) {
        return mcp_listen_read_uris(x, value, filter);
    }

    if (member->list == MCP_LISTEN_TASK) {
        return mcp_listen_read_tasks(x, value, filter);
    }

    if (value->type != MCP_JSON_BOOL) {
        return MCP_ERR_SYNTAX;
    }

    if (value->raw.data[0] == 't') {
        filter->lists |= 1u << member->list;
    }

    return MCP_OK;
}


int
mcp_listen_filter_read(mcp_exchange_t *x, mcp_listen_filter_t *filter,
    mcp_str_t *wrong)
{
    int               rc;
    size_t            i;
    unsigned          seen;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    *wrong = mcp_str("notifications");

    if (x->msg->notifications.type != MCP_JSON_OBJECT) {
        return MCP_ERR_SYNTAX;
    }

    seen = 0;
    mcp_json_iter_init(&iter, x->msg->notifications.raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {

        for (i = 0; i < MCP_LISTEN_MEMBERS; i++) {
            if (mcp_json_str_eq(key, mcp_listen_members[i].name)) {
                break;
            }
        }

        if (i == MCP_LISTEN_MEMBERS) {
            continue;
        }

        *wrong = mcp_listen_members[i].name;

        if (seen & (1u << i)) {
            return MCP_ERR_SYNTAX;
        }

        seen |= 1u << i;
        rc = mcp_listen_read_member(x, &mcp_listen_members[i], &value, filter);

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}


void
mcp_listen_filter_honour(const mcp_exchange_t *x, mcp_listen_filter_t *filter)
{
    size_t                      i;
    const mcp_listen_member_t  *member;

    for (i = 0; i < MCP_LISTEN_MEMBERS; i++) {
        member = &mcp_listen_members[i];

        if (mcp_endpoint_offers(x->endpoint, member->kinds[0])
            || mcp_endpoint_offers(x->endpoint, member->kinds[1]))
        {
            continue;
        }

        if (member->list == MCP_LISTEN_URI) {
            filter->uris = mcp_null_str;

        } else if (member->list < MCP_TOPIC_COUNT) {
            filter->lists &= ~(1u << member->list);
        }
    }
}


/* Sorts the requested URIs in raw: appends those that the caller may read to
 * uris, and the scopes that the caller lacks for other URIs to scopes. Returns
 * MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_listen_permit_uris(mcp_exchange_t *x, mcp_str_t raw, mcp_buf_t *uris,
    mcp_buf_t *scopes)
{
    mcp_str_t         uri, scope;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, raw);

    while (mcp_json_iter_next(&iter, NULL, &value)) {

        if (mcp_json_unescape(&x->arena, value.raw, &uri) != MCP_OK
            || mcp_uri_normal(&x->arena, uri, &uri) != MCP_OK)
        {
            return MCP_ERR_MEMORY;
        }

        switch (mcp_permission(x, MCP_LIST_RESOURCES, uri, &scope)) {

        case MCP_PERMISSION_UNKNOWN:
            break;

        case MCP_PERMISSION_SCOPE:
            mcp_scope_add(scopes, scope);
            break;

        case MCP_PERMISSION_CALL:
            mcp_buf_lit(uris, ",");
            mcp_buf_str(uris, value.raw);
        }
    }

    if (uris->len) {
        uris->data[0] = '[';
        mcp_buf_lit(uris, "]");
    }

    return uris->failed || scopes->failed ? MCP_ERR_MEMORY : MCP_OK;
}


int
mcp_listen_filter_permit(mcp_exchange_t *x, mcp_listen_filter_t *filter,
    mcp_str_t *scope)
{
    int        rc;
    mcp_buf_t  uris, scopes;

    *scope = mcp_null_str;

    if (filter->uris.len == 0 || !mcp_endpoint_restricts(x->endpoint)) {
        return MCP_OK;
    }

    mcp_buf_init(&uris, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_init(&scopes, &x->worker->env->mem, SIZE_MAX / 2);

    rc = mcp_listen_permit_uris(x, filter->uris, &uris, &scopes);

    filter->uris = mcp_null_str;

    if (rc == MCP_OK && uris.len) {
        filter->uris = mcp_arena_dup(&x->arena,
                                     (mcp_str_t) { uris.data, uris.len });
        rc = filter->uris.data ? MCP_OK : MCP_ERR_MEMORY;
    }

    if (rc == MCP_OK && scopes.len) {
        *scope = mcp_arena_dup(&x->arena,
                               (mcp_str_t) { scopes.data, scopes.len });
        rc = scope->data ? MCP_OK : MCP_ERR_MEMORY;
    }

    mcp_buf_free(&uris);
    mcp_buf_free(&scopes);

    return rc;
}


static int
mcp_listen_has(const mcp_listen_filter_t *filter, unsigned list)
{
    switch (list) {

    case MCP_LISTEN_URI:
        return filter->uris.len > 0;

    case MCP_LISTEN_TASK:
        return filter->tasks.n > 0;

    default:
        return (filter->lists & (1u << list)) != 0;
    }
}


void
mcp_listen_filter_write(const mcp_listen_filter_t *filter, mcp_buf_t *out)
{
    size_t                      i;
    const char                 *before;
    const mcp_listen_member_t  *member;

    before = "{\"";

    for (i = 0; i < MCP_LISTEN_MEMBERS; i++) {
        member = &mcp_listen_members[i];

        if (!mcp_listen_has(filter, member->list)) {
            continue;
        }

        mcp_buf_add(out, before, 2);
        mcp_buf_str(out, member->name);
        mcp_buf_lit(out, "\":");
        before = ",\"";

        if (member->list == MCP_LISTEN_URI) {
            mcp_json_add_line(out, filter->uris);

        } else if (member->list == MCP_LISTEN_TASK) {
            mcp_listen_task_ids(&filter->tasks, out);

        } else {
            mcp_buf_lit(out, "true");
        }
    }

    mcp_buf_add(out, "{", before[0] == '{' ? 1 : 0);
    mcp_buf_lit(out, "}");
}
