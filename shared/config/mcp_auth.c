/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Authorization: chooses the metadata document of a request, writes
 * challenges, and reads the directives from which the document is made.
 * Accepted values of the directives need no escapes, either in JSON or in
 * parameters of challenges.
 */


#include <stdio.h>

#include "base/mcp_crypto.h"
#include "config/mcp_auth_internal.h"
#include "config/mcp_setup_internal.h"
#include "http/mcp_http_authority.h"
#include "http/mcp_http_parse_challenge.h"


static int
mcp_auth_is_single(const mcp_auth_t *const *auths, size_t n)
{
    return n == 1 && auths[0]->path.len > sizeof(MCP_AUTH_WELL_KNOWN) - 1;
}


const mcp_auth_t *
mcp_auth_find(const mcp_auth_t *const *auths, size_t n, mcp_str_t target)
{
    size_t       i;
    mcp_str_t    authority;
    const char  *query;

    mcp_http_target(&target, &authority);

    query = target.len ? memchr(target.data, '?', target.len) : NULL;

    if (query) {
        target.len = (size_t) (query - target.data);
    }

    for (i = 0; i < n; i++) {
        if (mcp_str_eq(auths[i]->path, target)) {
            return auths[i];
        }
    }

    return mcp_auth_is_single(auths, n)
           && mcp_str_eq(target, mcp_str(MCP_AUTH_WELL_KNOWN)) ? auths[0]
                                                               : NULL;
}


int
mcp_auth_check(const mcp_auth_t *const *auths, size_t n,
    const mcp_auth_t *auth)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        if (mcp_str_eq(auths[i]->path, auth->path)) {
            return mcp_str_eq(auths[i]->document, auth->document)
                   ? MCP_DONE : MCP_ERR_EXISTS;
        }
    }

    return MCP_OK;
}


/* Returns 1 if a 403 response to a request with a Bearer token probably means
 * that the token lacks scopes. */
static int
mcp_auth_is_insufficient(const mcp_auth_t *auth, int status,
    mcp_str_t authorization)
{
    static const mcp_str_t  bearer = mcp_str("bearer ");

    return status == 403 && auth->scope.len && authorization.len > bearer.len
           && mcp_str_case_eq((mcp_str_t) { authorization.data, bearer.len },
                              bearer);
}


/* Appends the parameter name="value" to a Bearer challenge, with a comma in
 * front unless it is the first parameter (has->params). Sets has->params. */
static void
mcp_auth_param(mcp_http_challenge_t *has, mcp_str_t name, mcp_str_t value,
    mcp_buf_t *buf)
{
    mcp_buf_str(buf, has->params ? mcp_str(", ") : mcp_str(" "));
    mcp_buf_str(buf, name);
    mcp_buf_lit(buf, "=\"");
    mcp_buf_str(buf, value);
    mcp_buf_lit(buf, "\"");

    has->params = 1;
}


int
mcp_auth_challenge(const mcp_auth_t *auth, int status, mcp_str_t authorization,
    const mcp_str_t *values, size_t n, size_t *which, mcp_buf_t *buf)
{
    size_t                i, len;
    mcp_str_t             begin, rest;
    mcp_http_challenge_t  has;

    for (i = 0; i < n; i++) {
        if (mcp_http_bearer(values[i], &has) == MCP_OK) {
            break;
        }
    }

    *which = i;

    if (i == n) {
        memset(&has, 0, sizeof(mcp_http_challenge_t));
        begin = mcp_str("Bearer");
        rest = mcp_null_str;

    } else {
        begin = (mcp_str_t) { values[i].data, has.end };
        rest.data = values[i].data + has.end;
        rest.len = values[i].len - has.end;
    }

    mcp_buf_str(buf, begin);
    len = buf->len;

    if (!has.error && mcp_auth_is_insufficient(auth, status, authorization)) {
        mcp_auth_param(&has, mcp_str("error"), mcp_str("insufficient_scope"),
                       buf);
    }

    if (!has.metadata) {
        mcp_auth_param(&has, mcp_str("resource_metadata"), auth->url, buf);
    }

    if (!has.scope && auth->scope.len) {
        mcp_auth_param(&has, mcp_str("scope"), auth->scope, buf);
    }

    if (i < n && buf->len == len) {
        return buf->failed ? buf->failed : MCP_DONE;
    }

    mcp_buf_str(buf, rest);

    return buf->failed;
}


void
mcp_auth_insufficient(const mcp_auth_t *auth, mcp_str_t scope, mcp_buf_t *buf)
{
    mcp_buf_lit(buf, "Bearer error=\"insufficient_scope\", scope=\"");
    mcp_buf_str(buf, scope);
    mcp_buf_lit(buf, "\"");

    if (auth) {
        mcp_buf_lit(buf, ", resource_metadata=\"");
        mcp_buf_str(buf, auth->url);
        mcp_buf_lit(buf, "\"");
    }
}


#define MCP_SETUP_URI_MAX     1024     /* bytes */
#define MCP_SETUP_WORDS_MAX   64       /* maximum number of authorization
                                          servers, and of scopes */
#define MCP_SETUP_ETAG_BYTES  8


/* --- values of the directives --- */

/* Characters of a path besides letters and digits (RFC 3986, 3.3). */
#define MCP_SETUP_PATH_CHARS  "/-._~%!$&'()*+,;=:@"

/* Returns 1 if the text is the path of a URI without query and fragment. */
static int
mcp_setup_is_path(mcp_str_t text)
{
    size_t  i;

    if (text.len && text.data[0] != '/') {
        return 0;
    }

    for (i = 0; i < text.len; i++) {
        if (!mcp_is_alnum((unsigned char) text.data[i])
            && memchr(MCP_SETUP_PATH_CHARS, text.data[i],
                      sizeof(MCP_SETUP_PATH_CHARS) - 1)
               == NULL)
        {
            return 0;
        }
    }

    return 1;
}


int
mcp_setup_split(mcp_str_t uri, mcp_str_t *origin, mcp_str_t *path)
{
    size_t       i;
    const char  *p;

    p = uri.len ? memchr(uri.data, ':', uri.len) : NULL;
    if (p == NULL || uri.len > MCP_SETUP_URI_MAX) {
        return MCP_ERR_SYNTAX;
    }

    i = (size_t) (p - uri.data) + 3;

    while (i < uri.len && uri.data[i] != '/') {
        i++;
    }

    if (i > uri.len) {
        return MCP_ERR_SYNTAX;
    }

    *origin = (mcp_str_t) { uri.data, i };
    *path = (mcp_str_t) { uri.data + i, uri.len - i };

    return mcp_http_is_web_origin(*origin) && mcp_setup_is_path(*path)
           ? MCP_OK : MCP_ERR_SYNTAX;
}


/* Returns 1 if the text is a scope-token (RFC 6749, 3.3). */
static int
mcp_setup_is_scope(mcp_str_t text)
{
    size_t         i;
    unsigned char  c;

    for (i = 0; i < text.len; i++) {
        c = (unsigned char) text.data[i];

        if (c <= ' ' || c > '~' || c == '"' || c == '\\') {
            return 0;
        }
    }

    return text.len > 0;
}


static int
mcp_setup_add_word(mcp_setup_t *setup, mcp_setup_words_t *words,
    mcp_str_t text, char *error)
{
    size_t  i;

    if (words->word == NULL) {
        words->word = mcp_arena_alloc(&setup->arena, MCP_SETUP_WORDS_MAX
                                                     * sizeof(mcp_str_t));
        if (words->word == NULL) {
            return MCP_ERR_MEMORY;
        }
    }

    for (i = 0; i < words->n; i++) {
        if (mcp_str_eq(words->word[i], text)) {
            return mcp_setup_fail(error, "\"%.*s\" is listed twice",
                                  mcp_setup_quote(text));
        }
    }

    if (words->n == MCP_SETUP_WORDS_MAX) {
        return mcp_setup_fail(error, "more than %d values are not allowed",
                              MCP_SETUP_WORDS_MAX);
    }

    words->word[words->n] = mcp_arena_dup(&setup->arena, text);

    return words->word[words->n++].data ? MCP_OK : MCP_ERR_MEMORY;
}


/* --- directives --- */

int
mcp_setup_auth_resource(mcp_setup_t *setup, mcp_str_t uri, char *error)
{
    mcp_str_t  origin, path;

    if (setup->auth_resource.data) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    if (mcp_str_eq(uri, mcp_str("off"))) {
        setup->auth_resource = mcp_str("");
        return MCP_OK;
    }

    if (mcp_setup_split(uri, &origin, &path) != MCP_OK) {
        return mcp_setup_fail(error, "\"%.*s\" is neither \"off\" nor the "
                                     "URI of a resource: http:// or "
                                     "https://, a host, and a path, without "
                                     "a query or a fragment",
                              mcp_setup_quote(uri));
    }

    setup->auth_resource = mcp_arena_dup(&setup->arena, uri);

    return setup->auth_resource.data ? MCP_OK : MCP_ERR_MEMORY;
}


int
mcp_setup_auth_server(mcp_setup_t *setup, mcp_str_t uri, char *error)
{
    mcp_str_t  origin, path;

    /* an issuer has no query and no fragment (RFC 8414, 2) */

    if (mcp_setup_split(uri, &origin, &path) != MCP_OK) {
        return mcp_setup_fail(error, "\"%.*s\" is not the URI of an issuer: "
                              "http:// or https://, a host, and a path, "
                              "without a query or a fragment",
                              mcp_setup_quote(uri));
    }

    return mcp_setup_add_word(setup, &setup->auth_servers, uri, error);
}


int
mcp_setup_auth_scope(mcp_setup_t *setup, mcp_str_t scope, char *error)
{
    if (!mcp_setup_is_scope(scope)) {
        return mcp_setup_fail(error, "\"%.*s\" is not a scope: write "
                                     "printable ASCII characters without "
                                     "spaces, quotes or backslashes",
                              mcp_setup_quote(scope));
    }

    /* "offline_access" is not a scope of a resource (2026-07-28,
     * basic/authorization, "Refresh Tokens") */

    if (mcp_str_eq(scope, mcp_str("offline_access"))) {
        return mcp_setup_fail(error,
                              "\"offline_access\" is not a scope of a "
                              "resource, because clients request it from the "
                              "issuer themselves: remove it");
    }

    return mcp_setup_add_word(setup, &setup->auth_scopes, scope, error);
}


void
mcp_setup_merge_auth(mcp_setup_t *setup, const mcp_setup_t *parent)
{
    if (setup->auth_resource.data == NULL) {
        setup->auth_resource = parent->auth_resource;
    }

    if (setup->auth_servers.n == 0) {
        setup->auth_servers = parent->auth_servers;
    }

    if (setup->auth_scopes.n == 0) {
        setup->auth_scopes = parent->auth_scopes;
    }
}


/* --- the document --- */

static void
mcp_setup_write_words(mcp_buf_t *buf, const mcp_setup_words_t *words)
{
    size_t  i;

    for (i = 0; i < words->n; i++) {
        mcp_buf_str(buf, i ? mcp_str(",") : mcp_str("["));
        mcp_buf_json(buf, words->word[i]);
    }

    mcp_buf_lit(buf, "]");
}


/* Appends the Protected Resource Metadata (RFC 9728, 2). */
static void
mcp_setup_write_document(const mcp_setup_t *setup, mcp_buf_t *buf)
{
    mcp_buf_lit(buf, "{\"resource\":");
    mcp_buf_json(buf, setup->auth_resource);
    mcp_buf_lit(buf, ",\"authorization_servers\":");
    mcp_setup_write_words(buf, &setup->auth_servers);

    if (setup->auth_scopes.n) {
        mcp_buf_lit(buf, ",\"scopes_supported\":");
        mcp_setup_write_words(buf, &setup->auth_scopes);
    }

    mcp_buf_lit(buf, ",\"bearer_methods_supported\":[\"header\"]");

    if (setup->name.data) {
        mcp_buf_lit(buf, ",\"resource_name\":");
        mcp_buf_json(buf, setup->title.data ? setup->title : setup->name);
    }

    mcp_buf_lit(buf, "}");
}


/*
 * Appends the URL of the metadata document. The well-known path is inserted
 * between the host and the path of the resource; the path "/" is omitted (RFC
 * 9728, 3.1). Sets *origin to the length of "scheme://host[:port]".
 */
static void
mcp_setup_write_url(const mcp_setup_t *setup, mcp_buf_t *buf, size_t *origin)
{
    mcp_str_t  host, path;

    (void) mcp_setup_split(setup->auth_resource, &host, &path);

    if (path.len == 1) {
        path.len = 0;
    }

    *origin = host.len;

    mcp_buf_str(buf, host);
    mcp_buf_lit(buf, MCP_AUTH_WELL_KNOWN);
    mcp_buf_str(buf, path);
}


static void
mcp_setup_write_scope(const mcp_setup_t *setup, mcp_buf_t *buf)
{
    size_t  i;

    for (i = 0; i < setup->auth_scopes.n; i++) {
        if (i) {
            mcp_buf_lit(buf, " ");
        }

        mcp_buf_str(buf, setup->auth_scopes.word[i]);
    }
}


static int
mcp_setup_make_etag(mcp_setup_t *setup, mcp_auth_t *auth)
{
    int            i, rc;
    char           text[2 * MCP_SETUP_ETAG_BYTES + 3];
    unsigned char  digest[MCP_DIGEST_LEN];

    rc = mcp_digest(digest, &auth->document, 1);
    if (rc != MCP_OK) {
        return rc;
    }

    text[0] = '"';

    for (i = 0; i < MCP_SETUP_ETAG_BYTES; i++) {
        (void) snprintf(text + 1 + 2 * i, 3, "%02x", digest[i]);
    }

    text[sizeof(text) - 2] = '"';

    auth->etag = mcp_arena_dup(&setup->arena,
                               (mcp_str_t) { text, sizeof(text) - 1 });

    return auth->etag.data ? MCP_OK : MCP_ERR_MEMORY;
}


static int
mcp_setup_make_auth(mcp_setup_t *setup, mcp_auth_t *auth)
{
    size_t     origin;
    mcp_buf_t  buf;

    origin = 0;

    mcp_buf_init(&buf, setup->mem, SIZE_MAX / 2);

    mcp_setup_write_document(setup, &buf);
    auth->document = mcp_arena_take(&setup->arena, &buf);

    mcp_setup_write_url(setup, &buf, &origin);
    auth->url = mcp_arena_take(&setup->arena, &buf);

    mcp_setup_write_scope(setup, &buf);
    auth->scope = mcp_arena_take(&setup->arena, &buf);

    if (auth->document.data == NULL || auth->url.data == NULL
        || auth->scope.data == NULL)
    {
        return MCP_ERR_MEMORY;
    }

    auth->path.data = auth->url.data + origin;
    auth->path.len = auth->url.len - origin;

    return mcp_setup_make_etag(setup, auth);
}


int
mcp_setup_auth(mcp_setup_t *setup, const mcp_auth_t **auth, char *error)
{
    int          rc;
    mcp_auth_t  *made;

    *auth = setup->auth;

    if (setup->auth || setup->auth_resource.len == 0) {
        return MCP_OK;
    }

    if (setup->auth_servers.n == 0) {
        return mcp_setup_fail(error, "the resource \"%.*s\" has no "
                              "authorization server",
                              mcp_setup_quote(setup->auth_resource));
    }

    made = mcp_arena_calloc(&setup->arena, sizeof(mcp_auth_t));
    if (made == NULL) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_setup_make_auth(setup, made);

    if (rc == MCP_OK) {
        setup->auth = made;
        *auth = made;
    }

    return rc;
}
