/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The core's variables: notes mcp-... for logs and expressions, variables
 * MCP_... for backends.
 */

#include "mod_mcp_note.h"

#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_request.h"
#include "mod_mcp_worker.h"
#include "mod_mcp_zone.h"
#include "mcp_early_header.h"
#include "mcp_version.h"

/* size of the name of a note, bytes: more than the longest name needs */
#define NAME_SIZE  32

/* names of the notes, by the number of the variable */
static char names[MCP_VARIABLE_COUNT][NAME_SIZE];

/*
 * The type of apr_table_setn() and apr_table_addn().  note_all() calls
 * apr_table_addn() when the notes of a request are set for the first time.
 * This is faster, because apr_table_setn() compares a name with all names in
 * the table that begin with the same four bytes, and all notes begin with
 * "mcp-".
 */
typedef void put_t(apr_table_t *table, const char *name, const char *value);

/*
 * Writes the name of the note for a variable: "mcp-name" for "mcp_name". p has
 * room for the terminating NUL.
 */
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

/* Returns the size of the values of all variables as C strings, bytes. */
static apr_size_t size_of(const mcp_variables_t *variables)
{
    apr_size_t size = 0;
    int i;

    for (i = 0; i < MCP_VARIABLE_COUNT; i++) {
        size += variables->value[i].len + 1;
    }

    return size;
}

/* Writes a value as a C string.  Returns the position behind it. */
static char *write_value(char *p, mcp_str_t value)
{
    memcpy(p, value.data, value.len);
    p[value.len] = '\0';

    return p + value.len + 1;
}

static void note_all(request_rec *r, const mcp_variables_t *variables)
{
    put_t *put = apr_table_setn;
    char *p, *next;
    int i;

    if (apr_table_get(r->notes, "mcp-version") == NULL) {
        put = apr_table_addn;
        put(r->notes, "mcp-version", mcp_version);
    }

    if (variables == NULL) {
        return;
    }

    p = apr_palloc(r->pool, size_of(variables));

    for (i = 0; i < MCP_VARIABLE_COUNT; i++) {
        if (variables->value[i].len) {
            next = write_value(p, variables->value[i]);
            put(r->notes, names[i], p);
            p = next;
        }
    }
}

void mod_mcp_note(mod_mcp_client_t *client)
{
    note_all(client->r, client->exchange
                            ? mcp_exchange_variables(client->exchange)
                            : NULL);
}

void mod_mcp_note_backend_request(request_rec *r,
                                  const mcp_backend_request_t *breq,
                                  int arguments)
{
    note_all(r, &breq->variables);

    if (arguments) {
        note(r, mcp_str("mcp_arguments"), mcp_backend_request_arguments(breq));
    }
}

static void *request_alloc(void *pool, size_t size)
{
    return apr_palloc(pool, size);
}

int mod_mcp_note_early(request_rec *r)
{
    const char *handler = mod_mcp_request_handler(r);
    mcp_mem_t mem = { request_alloc, NULL, r->pool };
    mcp_str_t variable, value;
    mcp_early_header_t early;
    size_t at = 0;

    if (r->main || handler == NULL || strcmp(handler, MOD_MCP_HANDLER) != 0) {
        return DECLINED;
    }

    early.mem = &mem;
    early.endpoint = mod_mcp_config_endpoint(mod_mcp_config_dir(r),
                                             mod_mcp_zone_keys());
    early.headers = mod_mcp_request_headers(r, MCP_EARLY_HEADER_INITIAL,
                                            &early.n_headers);

    if (early.endpoint == NULL) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    while (mcp_early_header_next(&early, &at, &variable, &value) == MCP_OK) {
        note(r, variable, value);
    }

    return DECLINED;
}

/*
 * Sets the notes of a request again if its response was a stream, because some
 * variables get their values only at the end of a stream.  The notes of
 * requests with other responses are already complete.
 */
int mod_mcp_note_log(request_rec *r)
{
    mod_mcp_client_t *client = mod_mcp_client(r);

    if (client && client->exchange && client->output != MOD_MCP_UNANSWERED
        && client->output != MOD_MCP_RESPONDED) {
        mod_mcp_lock();
        mcp_exchange_last(client->exchange);
        mod_mcp_note(client);
        mod_mcp_unlock();
    }

    return DECLINED;
}

void mod_mcp_note_env(apr_table_t *env, const mcp_variables_t *variables)
{
    char *next, *p = apr_palloc(apr_table_elts(env)->pool, size_of(variables));
    int i;

    for (i = 0; i < MCP_VARIABLE_COUNT; i++) {
        if (variables->value[i].len && mcp_variable_env[i].len) {
            next = write_value(p, variables->value[i]);
            apr_table_addn(env, mcp_variable_env[i].data, p);
            p = next;
        }
    }
}

void mod_mcp_note_register(void)
{
    int i;

    for (i = 0; i < MCP_VARIABLE_COUNT; i++) {
        ap_assert(mcp_variable_names[i].len < NAME_SIZE);
        write_name(names[i], mcp_variable_names[i]);
    }
}
