/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The parameters of mcp_cluster: the address of Redis, and this node's name
 * and credentials.
 */


#include "config/mcp_cluster_conf_internal.h"
#include "http/mcp_http_internal.h"


#define MCP_CLUSTER_DB_MAX         65535
#define MCP_CLUSTER_PARAMETER_MAX  64          /* maximum length of a name,
                                                  bytes */
#define MCP_CLUSTER_PATH_MAX       107         /* maximum length of a Unix
                                                  socket's path, bytes */


/* --- URLs --- */

/*
 * Removes "user@" from the beginning of *text. Returns MCP_ERR_SYNTAX if the
 * URL contains a password.
 */
static int
mcp_cluster_take_user(mcp_str_t *text, mcp_str_t *user)
{
    size_t  i;

    *user = mcp_null_str;

    for (i = 0; i < text->len && text->data[i] != '/'; i++) {
        if (text->data[i] == '@') {
            *user = (mcp_str_t) { text->data, i };
            text->data += i + 1;
            text->len -= i + 1;
            break;
        }
    }

    return user->data && user->len == 0 ? MCP_ERR_SYNTAX : MCP_OK;
}


/*
 * Sets a parameter that any URL may contain; all URLs must have the same
 * value.
 */
static int
mcp_cluster_set_user(mcp_cluster_setup_t *setup, mcp_str_t user, char *error)
{
    size_t         i;
    unsigned char  c;

    for (i = 0; i < user.len; i++) {
        c = (unsigned char) user.data[i];

        if (c == ':') {
            return mcp_setup_fail(error, "a URL cannot contain a password: "
                                  "write it into a file and set "
                                  "password_file=");
        }

        if (c <= ' ' || c > '~') {
            break;
        }
    }

    if (i < user.len || user.len == 0 || user.len > MCP_CLUSTER_PARAMETER_MAX) {
        return mcp_setup_fail(error,
                              "\"%.*s\" is not a user name of 1 to %d "
                              "printable characters without spaces",
                              mcp_setup_quote(user),
                              MCP_CLUSTER_PARAMETER_MAX);
    }

    if (setup->conf.user.data == NULL) {
        return mcp_cluster_dup(setup, &setup->conf.user, user);
    }

    if (!mcp_str_eq(setup->conf.user, user)) {
        return mcp_setup_fail(error,
                              "the URLs and user= name two users, \"%.*s\" "
                              "and \"%.*s\": name one",
                              (int) setup->conf.user.len,
                              setup->conf.user.data, mcp_setup_quote(user));
    }

    return MCP_OK;
}


static int
mcp_cluster_set_db(mcp_cluster_setup_t *setup, mcp_str_t text, char *error)
{
    uint64_t  db;

    if (mcp_str_uint(text, &db) != MCP_OK || db > MCP_CLUSTER_DB_MAX) {
        return mcp_setup_fail(error,
                              "\"%.*s\" is not the number of a database from "
                              "0 to %d", mcp_setup_quote(text),
                              MCP_CLUSTER_DB_MAX);
    }

    if (setup->has_db && setup->conf.db != db) {
        return mcp_setup_fail(error,
                              "the URLs and db= name two databases, %u and "
                              "%u: name one",
                              setup->conf.db, (unsigned) db);
    }

    setup->conf.db = (unsigned) db;
    setup->has_db = 1;

    return MCP_OK;
}


static int
mcp_cluster_is_path(mcp_str_t path)
{
    return path.len > 1 && path.len <= MCP_CLUSTER_PATH_MAX
           && path.data[0] == '/'
           && memchr(path.data, '\0', path.len) == NULL;
}


/* Splits "[user@]host[:port][/db]". */
static int
mcp_cluster_split(mcp_str_t text, mcp_str_t *user, mcp_str_t *db,
    mcp_http_authority_t *authority)
{
    const char  *slash;

    *db = mcp_null_str;

    if (mcp_cluster_take_user(&text, user) != MCP_OK) {
        return MCP_ERR_SYNTAX;
    }

    slash = text.len ? memchr(text.data, '/', text.len) : NULL;

    if (slash) {
        db->data = slash + 1;
        db->len = (size_t) (text.data + text.len - slash) - 1;
        text.len = (size_t) (slash - text.data);
    }

    return mcp_http_authority_parse(text, authority);
}


static int
mcp_cluster_tcp(mcp_cluster_setup_t *setup, mcp_str_t url, mcp_str_t rest,
    mcp_cluster_seed_t *seed, char *error)
{
    int                   rc;
    mcp_str_t             user, db;
    mcp_http_authority_t  authority;

    if (mcp_cluster_split(rest, &user, &db, &authority) != MCP_OK) {
        return mcp_setup_fail(error, "\"%.*s\" is not the URL of a Redis: "
                              MCP_CLUSTER_URL_FORM ", ports from 1 to 65535",
                              mcp_setup_quote(url));
    }

    rc = user.data ? mcp_cluster_set_user(setup, user, error) : MCP_OK;

    if (rc == MCP_OK && db.len) {
        rc = mcp_cluster_set_db(setup, db, error);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    seed->port = (unsigned) authority.port;

    /* removes the brackets of an IPv6 address in a URL */

    if (authority.host.data[0] == '[') {
        authority.host.data++;
        authority.host.len -= 2;
    }

    return mcp_cluster_dup(setup, &seed->host, authority.host);
}


static int
mcp_cluster_url(mcp_cluster_setup_t *setup, mcp_str_t url, char *error)
{
    int                  rc;
    mcp_str_t            rest, scheme;
    mcp_cluster_seed_t  *seed;

    if (setup->conf.n_seeds == MCP_CLUSTER_SEEDS) {
        return mcp_setup_fail(error, "more than %d URLs of Redis",
                              MCP_CLUSTER_SEEDS);
    }

    seed = &setup->conf.seeds[setup->conf.n_seeds];
    rest = url;

    if (url.len > 5 && memcmp(url.data, "unix:", 5) == 0) {
        rest = (mcp_str_t) { url.data + 5, url.len - 5 };

        if (!mcp_cluster_is_path(rest)) {
            return mcp_setup_fail(error,
                                  "\"%.*s\" is not \"unix:\" followed by an "
                                  "absolute path of at most %d bytes",
                                  mcp_setup_quote(url), MCP_CLUSTER_PATH_MAX);
        }

        rc = mcp_cluster_dup(setup, &seed->path, rest);

    } else if (mcp_http_take_scheme(&rest, &scheme) == MCP_OK
               && (mcp_str_eq(scheme, mcp_str("redis"))
                   || mcp_str_eq(scheme, mcp_str("rediss"))))
    {
        seed->tls = scheme.len == sizeof("rediss") - 1;
        setup->conf.tls |= seed->tls;
        rc = mcp_cluster_tcp(setup, url, rest, seed, error);

    } else {
        rc = mcp_setup_fail(error, "\"%.*s\" is not the URL of a Redis: "
                            MCP_CLUSTER_URL_FORM, mcp_setup_quote(url));
    }

    if (rc == MCP_OK) {
        setup->conf.n_seeds++;
    }

    return rc;
}


/* --- parameters --- */

/* Returns 1 if the text consists of printable ASCII without spaces. */
static int
mcp_cluster_is_name(mcp_str_t text)
{
    size_t         i;
    unsigned char  c;

    for (i = 0; i < text.len; i++) {
        c = (unsigned char) text.data[i];

        if (c <= ' ' || c > '~') {
            return 0;
        }
    }

    return text.len > 0 && text.len <= MCP_CLUSTER_PARAMETER_MAX;
}


/*
 * Sets the prefix of all keys, adding braces if it has none. Redis Cluster
 * puts keys with the same text between braces into one hash slot.
 */
static int
mcp_cluster_set_prefix(mcp_cluster_setup_t *setup, mcp_str_t prefix,
    char *error)
{
    char         *p;
    const char   *open, *close;

    open = prefix.len ? memchr(prefix.data, '{', prefix.len) : NULL;
    close = prefix.len ? memchr(prefix.data, '}', prefix.len) : NULL;

    if (!mcp_cluster_is_name(prefix)
        || (open == NULL) != (close == NULL)
        || (open && close < open + 2))
    {
        return mcp_setup_fail(error,
                              "\"%.*s\" is not a prefix: write 1 to %d "
                              "printable ASCII characters without spaces; "
                              "braces are optional, but must be a pair with "
                              "at least one character between them",
                              mcp_setup_quote(prefix),
                              MCP_CLUSTER_PARAMETER_MAX);
    }

    if (open) {
        return mcp_cluster_dup(setup, &setup->conf.prefix, prefix);
    }

    p = mcp_arena_alloc(&setup->arena, prefix.len + 2);
    if (p == NULL) {
        return MCP_ERR_MEMORY;
    }

    setup->conf.prefix = (mcp_str_t) { p, prefix.len + 2 };

    *p++ = '{';
    memcpy(p, prefix.data, prefix.len);
    p[prefix.len] = '}';

    return MCP_OK;
}


typedef enum {
    MCP_CLUSTER_SENTINEL = 0,
    MCP_CLUSTER_PREFIX,
    MCP_CLUSTER_DB,
    MCP_CLUSTER_USER,
    MCP_CLUSTER_PASSWORD_FILE,
    MCP_CLUSTER_NODE,
    MCP_CLUSTER_PARAMETERS
} mcp_cluster_parameter_e;

static const mcp_str_t  mcp_cluster_parameters[MCP_CLUSTER_PARAMETERS] = {
    mcp_str("sentinel"), mcp_str("prefix"), mcp_str("db"), mcp_str("user"),
    mcp_str("password_file"), mcp_str("node")
};


/* Checks a name and copies it into *member. */
static int
mcp_cluster_set_name(mcp_cluster_setup_t *setup, mcp_str_t *member,
    mcp_str_t value, char *error)
{
    if (!mcp_cluster_is_name(value)) {
        return mcp_setup_fail(error,
                              "\"%.*s\" is not a name of 1 to %d printable "
                              "ASCII characters without spaces",
                              mcp_setup_quote(value),
                              MCP_CLUSTER_PARAMETER_MAX);
    }

    return mcp_cluster_dup(setup, member, value);
}


static int
mcp_cluster_parameter(mcp_cluster_setup_t *setup, unsigned n, mcp_str_t value,
    mcp_str_t *file, char *error)
{
    switch (n) {

    case MCP_CLUSTER_SENTINEL:
        return mcp_cluster_set_name(setup, &setup->conf.sentinel, value,
                                    error);

    case MCP_CLUSTER_PREFIX:
        return mcp_cluster_set_prefix(setup, value, error);

    case MCP_CLUSTER_DB:
        return mcp_cluster_set_db(setup, value, error);

    case MCP_CLUSTER_USER:
        return mcp_cluster_set_user(setup, value, error);

    case MCP_CLUSTER_NODE:
        return mcp_cluster_set_name(setup, &setup->conf.label, value, error);

    default: /* MCP_CLUSTER_PASSWORD_FILE */

        if (value.len == 0) {
            return mcp_setup_fail(error, "password_file= names no file");
        }

        *file = value;

        return MCP_OK;
    }
}


int
mcp_cluster_setup_parameter(mcp_cluster_setup_t *setup, mcp_str_t word,
    mcp_str_t *file, char *error)
{
    unsigned   i;
    mcp_str_t  name;

    *file = mcp_null_str;

    for (i = 0; i < MCP_CLUSTER_PARAMETERS; i++) {
        name = mcp_cluster_parameters[i];

        if (word.len <= name.len || word.data[name.len] != '='
            || memcmp(word.data, name.data, name.len) != 0)
        {
            continue;
        }

        if (setup->set & mcp_cluster_bit(MCP_CLUSTER_PARAMETER_BIT + i)) {
            return mcp_setup_fail(error, "%s= is set twice", name.data);
        }

        setup->set |= mcp_cluster_bit(MCP_CLUSTER_PARAMETER_BIT + i);

        return mcp_cluster_parameter(setup, i,
                                     (mcp_str_t) { word.data + name.len + 1,
                                                   word.len - name.len - 1 },
                                     file, error);
    }

    return mcp_cluster_url(setup, word, error);
}
