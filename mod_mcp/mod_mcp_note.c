/* SPDX-License-Identifier: Apache-2.0 */

/* The core's facts by name: notes mcp-... for logs and expressions, variables
 * MCP_... for backends. */

#include "mod_mcp_note.h"

#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_request.h"
#include "mod_mcp_worker.h"
#include "mod_mcp_zone.h"
#include "mcp_sent.h"
#include "mcp_version.h"

/* Longer than any fact's name. */
#define NAME_SIZE  32

/* The notes' names. */
static char names[MCP_FACT_COUNT][NAME_SIZE];

/* Names that begin with the same four bytes are compared in full: what is new
 * is not looked for. */
typedef void put_t(apr_table_t *table, const char *name, const char *value);

/* Writes "mcp-name" for "mcp_name", into a place with room for its end. */
static void write_name(char *p, mcp_str_t variable)
{
    apr_size_t i;

    for (i = 0; i < variable.len; i++) {
        p[i] = variable.data[i] == '_' ? '-' : variable.data[i];
    }

    p[i] = '\0';
}

static void note(request_rec *r, mcp_str_t variable, mcp_str_t value)
{
    char *name = apr_palloc(r->pool, variable.len + 1);

    write_name(name, variable);

    apr_table_setn(r->notes, name,
                   apr_pstrmemdup(r->pool, value.data, value.len));
}

/* Returns the size of all values, as strings. */
static apr_size_t size_of(const mcp_facts_t *facts)
{
    apr_size_t size = 0;
    int i;

    for (i = 0; i < MCP_FACT_COUNT; i++) {
        size += facts->value[i].len + 1;
    }

    return size;
}

/* Writes a value as a string and returns what is behind it. */
static char *write_value(char *p, mcp_str_t value)
{
    memcpy(p, value.data, value.len);
    p[value.len] = '\0';

    return p + value.len + 1;
}

static void note_all(request_rec *r, const mcp_facts_t *facts)
{
    put_t *put = apr_table_setn;
    char *p, *next;
    int i;

    if (apr_table_get(r->notes, "mcp-version") == NULL) {
        put = apr_table_addn;
        put(r->notes, "mcp-version", mcp_version);
    }

    if (facts == NULL) {
        return;
    }

    p = apr_palloc(r->pool, size_of(facts));

    for (i = 0; i < MCP_FACT_COUNT; i++) {
        if (facts->value[i].len) {
            next = write_value(p, facts->value[i]);
            put(r->notes, names[i], p);
            p = next;
        }
    }
}

void mod_mcp_note(mod_mcp_client_t *client)
{
    note_all(client->r, client->exchange ? mcp_exchange_facts(client->exchange)
                                         : NULL);
}

void mod_mcp_note_job(request_rec *r, const mcp_job_t *job, int arguments)
{
    note_all(r, &job->facts);

    if (arguments) {
        note(r, mcp_str("mcp_arguments"), mcp_job_arguments(job));
    }
}

static void *allocate(void *pool, size_t size)
{
    return apr_palloc(pool, size);
}

int mod_mcp_note_early(request_rec *r)
{
    const char *handler = mod_mcp_request_handler(r);
    mcp_mem_t mem = { allocate, NULL, r->pool };
    mcp_str_t variable, value;
    mcp_sent_t sent;
    size_t at = 0;

    if (r->main || handler == NULL || strcmp(handler, MOD_MCP_HANDLER) != 0) {
        return DECLINED;
    }

    sent.mem = &mem;
    sent.endpoint = mod_mcp_config_endpoint(mod_mcp_config_dir(r),
                                            mod_mcp_zone_keys());
    sent.headers = mod_mcp_request_headers(r, MCP_SENT_INITIAL,
                                           &sent.n_headers);

    if (sent.endpoint == NULL) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    while (mcp_sent_next(&sent, &at, &variable, &value) == MCP_OK) {
        note(r, variable, value);
    }

    return DECLINED;
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
    char *next, *p = apr_palloc(apr_table_elts(env)->pool, size_of(facts));
    int i;

    for (i = 0; i < MCP_FACT_COUNT; i++) {
        if (facts->value[i].len && mcp_fact_env[i].len) {
            next = write_value(p, facts->value[i]);
            apr_table_addn(env, mcp_fact_env[i].data, p);
            p = next;
        }
    }
}

void mod_mcp_note_register(void)
{
    int i;

    for (i = 0; i < MCP_FACT_COUNT; i++) {
        ap_assert(mcp_fact_names[i].len < NAME_SIZE);
        write_name(names[i], mcp_fact_names[i]);
    }
}
