/* SPDX-License-Identifier: Apache-2.0 */

/* The core's facts by name: notes mcp-... for logs and expressions, variables
 * MCP_... for backends. */

#include "mod_mcp_note.h"

#include "mod_mcp_client.h"
#include "mod_mcp_worker.h"
#include "mcp_version.h"

#define NAME_SIZE  64

/* Makes "mcp-name" of "mcp_name". */
static void spell(char *name, mcp_str_t fact)
{
    apr_size_t i;

    for (i = 0; i < fact.len && i < NAME_SIZE - 1; i++) {
        name[i] = fact.data[i] == '_' ? '-' : fact.data[i];
    }

    name[i] = '\0';
}

void mod_mcp_note(mod_mcp_client_t *client)
{
    const mcp_facts_t *facts;
    request_rec *r = client->r;
    char name[NAME_SIZE];
    const mcp_str_t *value;
    int i;

    facts = client->exchange ? mcp_exchange_facts(client->exchange) : NULL;

    apr_table_setn(r->notes, "mcp-version", MCP_VERSION);

    for (i = 0; facts && i < MCP_FACT_COUNT; i++) {
        value = &facts->value[i];

        if (value->len == 0) {
            continue;
        }

        spell(name, mcp_fact_names[i]);

        apr_table_setn(r->notes, apr_pstrdup(r->pool, name),
                       apr_pstrmemdup(r->pool, value->data, value->len));
    }
}

/* A stream's last facts are known only now; a response's were noted before. */
int mod_mcp_note_log(request_rec *r)
{
    mod_mcp_client_t *client = mod_mcp_client(r);

    if (client && client->exchange && client->streaming) {
        mod_mcp_lock();
        mcp_exchange_last(client->exchange);
        mod_mcp_note(client);
        mod_mcp_unlock();
    }

    return DECLINED;
}

void mod_mcp_note_env(apr_table_t *env, const mcp_facts_t *facts)
{
    apr_pool_t *p = apr_table_elts(env)->pool;
    const mcp_str_t *value;
    int i;

    for (i = 0; i < MCP_FACT_COUNT; i++) {
        value = &facts->value[i];

        if (value->len && mcp_fact_env[i].len) {
            apr_table_setn(env, mcp_fact_env[i].data,
                           apr_pstrmemdup(p, value->data, value->len));
        }
    }
}
