/* SPDX-License-Identifier: Apache-2.0 */

/* Stores the values of an endpoint's directives in a setup, and writes the
 * error message if a value is invalid. */


#include <stdarg.h>
#include <stdio.h>

#include "base/mcp_str.h"
#include "config/mcp_setup_internal.h"
#include "http/mcp_http_authority.h"


mcp_setup_t *
mcp_setup_create(const mcp_mem_t *mem)
{
    mcp_setup_t  *setup;

    setup = mcp_mem_calloc(mem, sizeof(mcp_setup_t));

    if (setup) {
        setup->mem = mem;
        mcp_arena_init(&setup->arena, mem);
    }

    return setup;
}


void
mcp_setup_free(mcp_setup_t *setup)
{
    mcp_setup_pattern_t  *pattern;

    for (pattern = setup->made; pattern; pattern = pattern->made) {
        mcp_match_free(pattern->match);
    }

    mcp_setup_free_allows(setup);

    if (setup->made_catalog) {
        mcp_catalog_free(setup->made_catalog);
    }

    mcp_arena_destroy(&setup->arena);
    mcp_mem_free(setup->mem, setup);
}


int
mcp_setup_fail(char *error, const char *fmt, ...)
{
    va_list  args;

    va_start(args, fmt);
    (void) vsnprintf(error, MCP_SETUP_ERROR_MAX, fmt, args);
    va_end(args);

    return MCP_ERR_CONFIG;
}


/*
 * Sets *member to a copy of the text in the setup's arena. A directive may set
 * its text only once: returns MCP_ERR_CONFIG if *member is set already.
 * Otherwise returns MCP_OK or MCP_ERR_MEMORY.
 */
static int
mcp_setup_text(mcp_setup_t *setup, mcp_str_t *member, mcp_str_t text,
    char *error)
{
    if (member->data) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    *member = mcp_arena_dup(&setup->arena, text);

    return member->data ? MCP_OK : MCP_ERR_MEMORY;
}


int
mcp_setup_option(mcp_setup_t *setup, mcp_option_e option, mcp_str_t text,
    char *error)
{
    const char  *why;

    if (mcp_option_set(&setup->options, option, text, &why) == MCP_OK) {
        return MCP_OK;
    }

    if (memcmp(why, "invalid", sizeof("invalid") - 1) != 0) {
        return mcp_setup_fail(error, "%s", why);
    }

    return mcp_setup_fail(error, "%s \"%.*s\": %s", why, mcp_setup_quote(text),
                          mcp_option_form(option));
}


int
mcp_setup_server(mcp_setup_t *setup, mcp_str_t name, mcp_str_t version,
    mcp_str_t title, char *error)
{
    size_t     i;
    mcp_str_t  texts[3];

    if (setup->name.data) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    texts[0] = name;
    texts[1] = version;
    texts[2] = title;

    for (i = 0; i < (title.data ? 3 : 2); i++) {
        if (texts[i].len == 0 || !mcp_utf8_valid(texts[i])) {
            return mcp_setup_fail(error, "\"%.*s\" is empty or not UTF-8",
                                  mcp_setup_quote(texts[i]));
        }

        texts[i] = mcp_arena_dup(&setup->arena, texts[i]);

        if (texts[i].data == NULL) {
            return MCP_ERR_MEMORY;
        }
    }

    setup->name = texts[0];
    setup->version = texts[1];
    setup->title = texts[2];

    return MCP_OK;
}


int
mcp_setup_keys_begin(mcp_setup_t *setup, char *error)
{
    if (setup->keys) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    setup->made_keys = mcp_arena_calloc(&setup->arena, sizeof(mcp_keys_t));
    setup->keys = setup->made_keys;

    return setup->keys ? MCP_OK : MCP_ERR_MEMORY;
}


int
mcp_setup_key(mcp_setup_t *setup, mcp_str_t file, mcp_str_t contents,
    char *error)
{
    switch (mcp_keys_add(setup->made_keys, contents)) {

    case MCP_OK:
        return MCP_OK;

    case MCP_ERR_LIMIT:
        return mcp_setup_fail(error, "more than %d keys are not allowed",
                              MCP_KEYS_MAX);

    case MCP_ERR_CONFIG:
        return mcp_setup_fail(error, "the key in \"%.*s\" is shorter than %d "
                                     "bytes",
                              mcp_setup_quote(file), MCP_KEY_MIN_LEN);

    default:
        return mcp_setup_fail(error, "OpenSSL cannot hash the key in \"%.*s\"",
                              mcp_setup_quote(file));
    }
}


int
mcp_setup_key_weak(mcp_str_t file, mcp_str_t contents, int readable,
    char *warning)
{
    if (mcp_key_is_repeated(contents)) {
        (void) mcp_setup_fail(warning, "the key in \"%.*s\" is one repeated "
                                       "byte, which is easy to guess: write "
                                       "random bytes to the file",
                              mcp_setup_quote(file));
        return 1;
    }

    if (readable) {
        (void) mcp_setup_fail(warning, "the key file \"%.*s\" is readable by "
                                       "every user of this machine: run chmod "
                                       "o-rwx, and replace the key if others "
                                       "may have read it",
                              mcp_setup_quote(file));
        return 1;
    }

    return 0;
}


const mcp_keys_t *
mcp_setup_keys(const mcp_setup_t *setup)
{
    return setup->keys;
}


int
mcp_setup_catalog(mcp_setup_t *setup, mcp_str_t file, mcp_str_t contents,
    char *error)
{
    int   rc;
    char  why[MCP_SETUP_ERROR_MAX - MCP_SETUP_QUOTE_MAX - 4];

    if (setup->catalog) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    rc = mcp_catalog_create(setup->mem, contents, &setup->made_catalog, why,
                            sizeof(why));

    if (rc == MCP_ERR_CONFIG) {
        return mcp_setup_fail(error, "%.*s: %s", mcp_setup_quote(file), why);
    }

    if (rc != MCP_OK) {
        setup->made_catalog = NULL;
        return rc;
    }

    setup->catalog = setup->made_catalog;
    setup->catalog_file = mcp_arena_dup(&setup->arena, file);

    return setup->catalog_file.data ? MCP_OK : MCP_ERR_MEMORY;
}


static char *
mcp_setup_append(char *p, mcp_str_t s)
{
    if (s.len) {
        memcpy(p, s.data, s.len);
    }

    return p + s.len;
}


int
mcp_setup_set_catalog_key(mcp_setup_t *setup, mcp_str_t server, mcp_str_t path,
    unsigned n)
{
    char            number[16];
    mcp_str_t       parts[3];
    unsigned char  *catalog_key;
    char           *label, *end;

    catalog_key = mcp_arena_alloc(&setup->arena, MCP_DIGEST_LEN);
    label = mcp_arena_alloc(&setup->arena,
                            server.len + path.len + sizeof(number) + 1);

    if (catalog_key == NULL || label == NULL) {
        return MCP_ERR_MEMORY;
    }

    parts[0] = server;
    parts[1] = path;
    parts[2].data = number;
    parts[2].len = (size_t) snprintf(number, sizeof(number), "%u", n);

    setup->catalog_key = catalog_key;

    end = mcp_setup_append(mcp_setup_append(label, server), path);

    if (n) {
        *end++ = '#';
        end = mcp_uint_print(end, (uint64_t) n + 1);
    }

    setup->label = (mcp_str_t) { label, (size_t) (end - label) };

    return mcp_digest(catalog_key, parts, 3);
}


const unsigned char *
mcp_setup_catalog_key(const mcp_setup_t *setup)
{
    return setup->catalog_key;
}


int
mcp_setup_path(mcp_setup_t *setup, mcp_str_t path)
{
    setup->path = mcp_arena_dup(&setup->arena, path);

    return setup->path.data ? MCP_OK : MCP_ERR_MEMORY;
}


mcp_str_t
mcp_setup_section_path(const mcp_setup_t *setup)
{
    return setup->path;
}


int
mcp_setup_cluster_endpoint(mcp_setup_t *setup, mcp_str_t name, char *error)
{
    if (name.len == 0) {
        return mcp_setup_fail(error, "the name is empty");
    }

    return mcp_setup_text(setup, &setup->identity, name, error);
}


mcp_str_t
mcp_setup_identity(const mcp_setup_t *setup)
{
    return setup->identity.data ? setup->identity : setup->path;
}


int
mcp_setup_has_cluster_endpoint(const mcp_setup_t *setup)
{
    return setup->identity.data != NULL;
}


int
mcp_setup_backend(mcp_setup_t *setup, mcp_str_t target, char *error)
{
    return mcp_setup_text(setup, &setup->backend, target, error);
}


/*
 * Compiles the pattern "text" and appends it to the list of routes or of
 * allowed origins. target is the backend of a route. Returns MCP_OK,
 * MCP_ERR_CONFIG if the pattern is invalid, or MCP_ERR_MEMORY.
 */
static int
mcp_setup_pattern(mcp_setup_t *setup, mcp_setup_list_t *list, mcp_str_t text,
    mcp_str_t target, char *error)
{
    int                   rc;
    char                  why[MCP_SETUP_ERROR_MAX - MCP_SETUP_QUOTE_MAX - 32];
    mcp_setup_pattern_t  *pattern;

    pattern = mcp_arena_calloc(&setup->arena, sizeof(mcp_setup_pattern_t));
    if (pattern == NULL) {
        return MCP_ERR_MEMORY;
    }

    pattern->target = mcp_arena_dup(&setup->arena, target);
    pattern->text = mcp_arena_dup(&setup->arena, text);

    if (pattern->target.data == NULL || pattern->text.data == NULL) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_match_create(setup->mem, text, &pattern->match, why, sizeof(why));

    if (rc == MCP_ERR_CONFIG) {
        return mcp_setup_fail(error, "invalid pattern \"%.*s\": %s",
                              mcp_setup_quote(text), why);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    pattern->made = setup->made;
    setup->made = pattern;

    if (list->last == NULL) {
        list->last = &list->first;
    }

    *list->last = pattern;
    list->last = &pattern->next;
    list->n++;

    return MCP_OK;
}


int
mcp_setup_route(mcp_setup_t *setup, mcp_str_t pattern, mcp_str_t target,
    char *error)
{
    const mcp_setup_pattern_t  *route;

    for (route = setup->routes.first; route; route = route->next) {
        if (mcp_str_eq(route->text, pattern)) {
            return mcp_setup_fail(error,
                                  "an earlier route has the same pattern "
                                  "\"%.*s\", so this one is never used: "
                                  "remove one",
                                  mcp_setup_quote(pattern));
        }
    }

    return mcp_setup_pattern(setup, &setup->routes, pattern, target, error);
}


static int
mcp_setup_is_origin(mcp_str_t text)
{
    mcp_str_t  scheme;

    return mcp_str_eq(text, mcp_str("null"))
           || (text.len && text.data[0] == '~')
           || mcp_http_take_scheme(&text, &scheme) == MCP_OK;
}


/* Returns 1 if the text is host[:port] in the form that browsers send for an
 * origin with the scheme "http" or "https", whose default port is given. */
static int
mcp_setup_is_web_host(mcp_str_t text, uint64_t default_port)
{
    mcp_str_t             port;
    mcp_http_authority_t  authority;

    if (mcp_http_authority_parse(text, &authority) != MCP_OK) {
        return 0;
    }

    port.data = text.data + authority.host.len;
    port.len = text.len - authority.host.len;

    return port.len == 0
           || (authority.port != 0 && authority.port != default_port
               && port.data[1] != '0');
}


/*
 * Returns 1 if an origin is a regular expression, "null", or only
 * "scheme://host[:port]": without path, query, fragment, user information and
 * wildcard. With the scheme "http" or "https", it must have a host, and must
 * not have the default port.
 */
static int
mcp_setup_is_bare(mcp_str_t origin)
{
    size_t     i;
    mcp_str_t  scheme;

    if (origin.data[0] == '~'
        || mcp_http_take_scheme(&origin, &scheme) != MCP_OK)
    {
        return 1;
    }

    for (i = 0; i < origin.len; i++) {
        if (memchr("/?#@ *", origin.data[i], 6)) {
            return 0;
        }
    }

    if (mcp_str_case_eq(scheme, mcp_str("https"))) {
        return mcp_setup_is_web_host(origin, 443);
    }

    return !mcp_str_case_eq(scheme, mcp_str("http"))
           || mcp_setup_is_web_host(origin, 80);
}


int
mcp_setup_origin(mcp_setup_t *setup, mcp_str_t origin, char *error)
{
    if (mcp_str_eq(origin, mcp_str("*"))) {
        setup->any_origin = 1;
        return MCP_OK;
    }

    if (!mcp_setup_is_origin(origin)) {
        return mcp_setup_fail(error,
                              "\"%.*s\" is neither an origin "
                              "(scheme://host[:port]) nor \"~regex\", "
                              "\"null\" or \"*\"",
                              mcp_setup_quote(origin));
    }

    if (!mcp_setup_is_bare(origin)) {
        return mcp_setup_fail(error,
                              "\"%.*s\" never equals an Origin header, which "
                              "has the form scheme://host[:port] without the "
                              "default port of the scheme: remove everything "
                              "else",
                              mcp_setup_quote(origin));
    }

    return mcp_setup_pattern(setup, &setup->origins, origin, mcp_null_str,
                             error);
}


int
mcp_setup_revision(mcp_setup_t *setup, mcp_str_t name, char *error)
{
    char            known[256], *p;
    mcp_revision_e  revision;

    revision = mcp_revision_find(name);

    if (revision != MCP_REVISION_NONE) {
        setup->revisions |= mcp_revision_bit(revision);
        return MCP_OK;
    }

    p = known;
    *p = '\0';

    while ((revision = mcp_revision_next(revision)) != MCP_REVISION_NONE) {
        p += snprintf(p, sizeof(known) - (size_t) (p - known), " %s",
                      mcp_revision(revision)->name.data);
    }

    return mcp_setup_fail(error,
                          "\"%.*s\" is not a supported revision: write one of "
                          "%s", mcp_setup_quote(name), known + 1);
}


int
mcp_setup_link_origin(mcp_str_t origin, char *error)
{
    if (origin.len && !mcp_http_is_web_origin(origin)) {
        return mcp_setup_fail(error,
                              "\"%.*s\" is not of the form http://host[:port] "
                              "or https://host[:port]",
                              mcp_setup_quote(origin));
    }

    return MCP_OK;
}


int
mcp_setup_publish_token(mcp_setup_t *setup, mcp_str_t token, char *error)
{
    if (token.len == 0) {
        return mcp_setup_fail(error, "the token is empty");
    }

    return mcp_setup_text(setup, &setup->publish_token, token, error);
}


int
mcp_setup_publish_url(mcp_setup_t *setup, mcp_str_t url, char *error)
{
    mcp_str_t  origin, path;

    if (url.len && mcp_setup_split(url, &origin, &path) != MCP_OK) {
        return mcp_setup_fail(error, "\"%.*s\" is not a URL to which backends "
                              "can append a token: write http:// or https://, "
                              "a host, and a path, without a query or a "
                              "fragment", mcp_setup_quote(url));
    }

    return mcp_setup_text(setup, &setup->publish_url, url, error);
}
