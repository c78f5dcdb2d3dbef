/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the directives of a cluster into mcp_cluster_conf_t, and writes the
 * error message if a directive is invalid. */


#include "config/mcp_setup_internal.h"
#include "http/mcp_http_authority.h"
#include "mcp_cluster_conf.h"


#define MCP_CLUSTER_PORT           6379
#define MCP_CLUSTER_SENTINEL_PORT  26379

#define MCP_CLUSTER_DB_MAX         65535
#define MCP_CLUSTER_PARAMETER_MAX  64          /* maximum length of a user name,
                                                  key prefix or other name,
                                                  bytes */
#define MCP_CLUSTER_PATH_MAX       107         /* maximum length of a Unix
                                                  socket's path, bytes */

#define MCP_CLUSTER_URL_FORM                                                  \
    "redis://[user@]host[:port][/db], rediss:// likewise, or unix:/path"


struct mcp_cluster_setup_s {
    const mcp_mem_t     *mem;
    mcp_arena_t          arena;

    /* texts that are not set have .data NULL */
    mcp_cluster_conf_t   conf;
    mcp_str_t           *password;     /* member of conf to which
                                          mcp_cluster_setup_password() copies
                                          the password */
    uint32_t             set;          /* bits of the values that the
                                          configuration sets: options, and from
                                          MCP_CLUSTER_PARAMETER_BIT on the
                                          parameters of mcp_cluster */
    unsigned             begun:1;
    unsigned             has_db:1;
    unsigned             has_sync:1;
};


/* the first bit of "set" for a parameter of mcp_cluster */
#define MCP_CLUSTER_PARAMETER_BIT  16

static uint32_t
mcp_cluster_bit(unsigned n)
{
    return (uint32_t) 1 << n;
}


mcp_cluster_setup_t *
mcp_cluster_setup_create(const mcp_mem_t *mem)
{
    mcp_cluster_setup_t  *setup;

    setup = mcp_mem_calloc(mem, sizeof(mcp_cluster_setup_t));
    if (setup == NULL) {
        return NULL;
    }

    setup->mem = mem;
    mcp_arena_init(&setup->arena, mem);

    setup->password = &setup->conf.password;
    setup->conf.sync = MCP_CLUSTER_SYNC_ON;
    setup->conf.timeout = 1000;
    setup->conf.outage_timeout = 5000;
    setup->conf.node_timeout = 15000;
    setup->conf.tls_verify = 1;

    return setup;
}


void
mcp_cluster_setup_free(mcp_cluster_setup_t *setup)
{
    mcp_arena_destroy(&setup->arena);
    mcp_mem_free(setup->mem, setup);
}


/* Copies the text into *member. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_cluster_dup(mcp_cluster_setup_t *setup, mcp_str_t *member, mcp_str_t text)
{
    *member = mcp_arena_dup(&setup->arena, text);

    return member->data ? MCP_OK : MCP_ERR_MEMORY;
}


int
mcp_cluster_setup_begin(mcp_cluster_setup_t *setup, char *error)
{
    if (setup->begun) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    setup->begun = 1;

    return MCP_OK;
}


int
mcp_cluster_setup_password(mcp_cluster_setup_t *setup, mcp_str_t file,
    mcp_str_t contents, char *error)
{
    while (contents.len && (contents.data[contents.len - 1] == '\n'
                            || contents.data[contents.len - 1] == '\r'))
    {
        contents.len--;
    }

    if (contents.len == 0) {
        return mcp_setup_fail(error, "the file \"%.*s\" contains no password",
                              mcp_setup_quote(file));
    }

    return mcp_cluster_dup(setup, setup->password, contents);
}


/* --- directives with one value --- */

typedef enum {
    MCP_CLUSTER_KIND_TIME = 0,         /* a uint64_t */
    MCP_CLUSTER_KIND_TEXT,             /* an mcp_str_t */
    MCP_CLUSTER_KIND_FILE,             /* an mcp_str_t: the name of a file */
    MCP_CLUSTER_KIND_FLAG              /* an unsigned */
} mcp_cluster_kind_e;


typedef struct {
    const char          *names[2];     /* name of the directive in nginx, and
                                          in Apache */
    mcp_cluster_kind_e   kind;
    size_t               offset;       /* offset of the option's member in
                                          mcp_cluster_conf_t */
    uint64_t             min;          /* ms */
    uint64_t             max;
} mcp_cluster_option_t;


#define MCP_CLUSTER_OPTION_ROW(id, nginx, apache, kind, member, min, max,     \
    help)                                                                     \
    { { nginx, apache }, MCP_CLUSTER_KIND_##kind,                             \
      offsetof(mcp_cluster_conf_t, member), min, max },

static const mcp_cluster_option_t
    mcp_cluster_options[MCP_CLUSTER_OPTION_COUNT] = {
    MCP_CLUSTER_OPTIONS(MCP_CLUSTER_OPTION_ROW)
};

_Static_assert(MCP_CLUSTER_OPTION_COUNT <= MCP_CLUSTER_PARAMETER_BIT,
               "\"set\" has too few bits");


int
mcp_cluster_option_is_file(mcp_cluster_option_e option)
{
    return mcp_cluster_options[option].kind == MCP_CLUSTER_KIND_FILE;
}


static int
mcp_cluster_set_time(uint64_t *member, const mcp_cluster_option_t *row,
    mcp_str_t text, char *error)
{
    uint64_t  ms;

    if (mcp_option_time(text, &ms) != MCP_OK || ms < row->min || ms > row->max)
    {
        return mcp_setup_fail(error, "\"%.*s\" is not a time from %ums to "
                              "%us", mcp_setup_quote(text),
                              (unsigned) row->min,
                              (unsigned) (row->max / 1000));
    }

    *member = ms;

    return MCP_OK;
}


static int
mcp_cluster_set_flag(unsigned *flag, mcp_str_t text, char *error)
{
    *flag = mcp_str_case_eq(text, mcp_str("on")) != 0;

    return *flag || mcp_str_case_eq(text, mcp_str("off"))
           ? MCP_OK
           : mcp_setup_fail(error, "\"%.*s\" is neither \"on\" nor \"off\"",
                            mcp_setup_quote(text));
}


int
mcp_cluster_setup_option(mcp_cluster_setup_t *setup,
    mcp_cluster_option_e option, mcp_str_t text, char *error)
{
    void                        *member;
    const mcp_cluster_option_t  *row;

    if (setup->set & mcp_cluster_bit(option)) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    if (text.len == 0) {
        return mcp_setup_fail(error, "the value is empty");
    }

    setup->set |= mcp_cluster_bit(option);

    row = &mcp_cluster_options[option];
    member = (char *) &setup->conf + row->offset;

    switch (row->kind) {

    case MCP_CLUSTER_KIND_TIME:
        return mcp_cluster_set_time(member, row, text, error);

    case MCP_CLUSTER_KIND_FLAG:
        return mcp_cluster_set_flag(member, text, error);

    default:
        return mcp_cluster_dup(setup, member, text);
    }
}


int
mcp_cluster_setup_sync(mcp_cluster_setup_t *setup, mcp_str_t text,
    mcp_str_t replicas, char *error)
{
    int        rc;
    uint64_t   n;
    unsigned   on;
    mcp_str_t  number;

    if (setup->has_sync) {
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
    }

    setup->has_sync = 1;

    n = 0;
    number = replicas;

    rc = mcp_cluster_set_flag(&on, text, error);
    if (rc != MCP_OK) {
        return rc;
    }

    if (replicas.data
        && (!on || !mcp_str_take(&number, mcp_str("replicas="))
            || mcp_str_uint(number, &n) != MCP_OK
            || n < 1 || n > MCP_CLUSTER_REPLICAS_MAX))
    {
        return mcp_setup_fail(error,
                              "\"%.*s\" is not allowed: after \"on\" write "
                              "replicas=N, with N from 1 to %d",
                              mcp_setup_quote(replicas),
                              MCP_CLUSTER_REPLICAS_MAX);
    }

    setup->conf.sync = on ? MCP_CLUSTER_SYNC_ON : MCP_CLUSTER_SYNC_OFF;
    setup->conf.replicas = (unsigned) n;

    return MCP_OK;
}


/* --- URLs of Redis --- */

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


/* Returns 1 if the text consists of printable ASCII without spaces, and is
 * neither empty nor too long. */
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


/* Sets the user name for Redis, from a URL or from the parameter user=. Returns
 * MCP_ERR_CONFIG if it is invalid or differs from a user name that has already
 * been set. */
static int
mcp_cluster_set_user(mcp_cluster_setup_t *setup, mcp_str_t user, char *error)
{
    if (user.len && memchr(user.data, ':', user.len)) {
        return mcp_setup_fail(error, "a password is not allowed in a URL "
                                     "or in user=: write the password "
                                     "into a file and set password_file=");
    }

    if (!mcp_cluster_is_name(user)) {
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
                              "the URLs and user= contain two different "
                              "users, \"%.*s\" and \"%.*s\": use only one",
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
                              "the URLs and db= contain two different "
                              "databases, %u and %u: use only one",
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


/* Splits the part of a Redis URL after "://", "[user@]host[:port][/db]".
 * Returns MCP_OK or MCP_ERR_SYNTAX. */
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
        return mcp_setup_fail(error, "\"%.*s\" is not a Redis URL: write "
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
        return mcp_setup_fail(error, "more than %d Redis URLs are not allowed",
                              MCP_CLUSTER_SEEDS);
    }

    seed = &setup->conf.seeds[setup->conf.n_seeds];
    rest = url;

    if (url.len > 5 && mcp_str_take(&rest, mcp_str("unix:"))) {

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
        rc = mcp_setup_fail(error, "\"%.*s\" is not a Redis URL: write "
                            MCP_CLUSTER_URL_FORM, mcp_setup_quote(url));
    }

    if (rc == MCP_OK) {
        setup->conf.n_seeds++;
    }

    return rc;
}


/* --- parameters of mcp_cluster --- */

/*
 * Sets the prefix of all keys in Redis. Encloses it in braces if it has none,
 * because Redis Cluster puts keys with the same text between braces into one
 * hash slot.
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
                              "printable ASCII characters without spaces; if "
                              "it has braces, write one pair with at least "
                              "one character inside",
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
    MCP_CLUSTER_SENTINEL_USER,
    MCP_CLUSTER_SENTINEL_PASSWORD_FILE,
    MCP_CLUSTER_PARAMETERS
} mcp_cluster_parameter_e;

static const mcp_str_t  mcp_cluster_parameters[MCP_CLUSTER_PARAMETERS] = {
    mcp_str("sentinel="), mcp_str("prefix="), mcp_str("db="), mcp_str("user="),
    mcp_str("password_file="), mcp_str("node="), mcp_str("sentinel_user="),
    mcp_str("sentinel_password_file=")
};


/* Sets *member to a copy of value. Returns MCP_ERR_CONFIG if value is not a
 * name: empty, too long, or with spaces or other bytes than printable ASCII. */
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


/* Handles a parameter that names a password file. Sets *file to the name. The
 * caller reads the file, and mcp_cluster_setup_password() copies the password
 * into *member. */
static int
mcp_cluster_set_password_file(mcp_cluster_setup_t *setup, mcp_str_t *member,
    mcp_str_t value, mcp_str_t *file, char *error)
{
    if (value.len == 0) {
        return mcp_setup_fail(error, "%s is empty: write the name of a file",
                              member == &setup->conf.password
                              ? "password_file=" : "sentinel_password_file=");
    }

    setup->password = member;
    *file = value;

    return MCP_OK;
}


static int
mcp_cluster_parameter(mcp_cluster_setup_t *setup, unsigned n, mcp_str_t value,
    mcp_str_t *file, char *error)
{
    switch (n) {

    case MCP_CLUSTER_SENTINEL:
        return mcp_cluster_set_name(setup, &setup->conf.sentinel, value, error);

    case MCP_CLUSTER_PREFIX:
        return mcp_cluster_set_prefix(setup, value, error);

    case MCP_CLUSTER_DB:
        return mcp_cluster_set_db(setup, value, error);

    case MCP_CLUSTER_USER:
        return mcp_cluster_set_user(setup, value, error);

    case MCP_CLUSTER_NODE:
        return mcp_cluster_set_name(setup, &setup->conf.label, value, error);

    case MCP_CLUSTER_SENTINEL_USER:
        return mcp_cluster_set_name(setup, &setup->conf.sentinel_user, value,
                                    error);

    case MCP_CLUSTER_SENTINEL_PASSWORD_FILE:
        return mcp_cluster_set_password_file(setup,
                                             &setup->conf.sentinel_password,
                                             value, file, error);

    default: /* MCP_CLUSTER_PASSWORD_FILE */
        return mcp_cluster_set_password_file(setup, &setup->conf.password,
                                             value, file, error);
    }
}


int
mcp_cluster_setup_parameter(mcp_cluster_setup_t *setup, mcp_str_t word,
    mcp_str_t *file, char *error)
{
    unsigned   i;
    mcp_str_t  value;

    *file = mcp_null_str;
    value = word;

    for (i = 0; i < MCP_CLUSTER_PARAMETERS; i++) {
        if (!mcp_str_take(&value, mcp_cluster_parameters[i])) {
            continue;
        }

        if (setup->set & mcp_cluster_bit(MCP_CLUSTER_PARAMETER_BIT + i)) {
            return mcp_setup_fail(error, "%s is set twice",
                                  mcp_cluster_parameters[i].data);
        }

        setup->set |= mcp_cluster_bit(MCP_CLUSTER_PARAMETER_BIT + i);

        return mcp_cluster_parameter(setup, i, value, file, error);
    }

    return mcp_cluster_url(setup, word, error);
}


/* --- merging and checking --- */

/* Copies the value of one option from parent to conf. */
static void
mcp_cluster_take_option(mcp_cluster_conf_t *conf,
    const mcp_cluster_conf_t *parent, const mcp_cluster_option_t *row)
{
    static const size_t  sizes[] = {
        [MCP_CLUSTER_KIND_TIME] = sizeof(uint64_t),
        [MCP_CLUSTER_KIND_TEXT] = sizeof(mcp_str_t),
        [MCP_CLUSTER_KIND_FILE] = sizeof(mcp_str_t),
        [MCP_CLUSTER_KIND_FLAG] = sizeof(unsigned)
    };

    memcpy((char *) conf + row->offset, (const char *) parent + row->offset,
           sizes[row->kind]);
}


void
mcp_cluster_setup_merge(mcp_cluster_setup_t *setup,
    const mcp_cluster_setup_t *parent)
{
    unsigned  i;
    uint32_t  missing;

    missing = parent->set & ~setup->set;

    for (i = 0; i < MCP_CLUSTER_OPTION_COUNT; i++) {
        if (missing & mcp_cluster_bit(i)) {
            mcp_cluster_take_option(&setup->conf, &parent->conf,
                                    &mcp_cluster_options[i]);
            setup->set |= mcp_cluster_bit(i);
        }
    }

    if (!setup->has_sync && parent->has_sync) {
        setup->conf.sync = parent->conf.sync;
        setup->conf.replicas = parent->conf.replicas;
        setup->has_sync = 1;
    }
}


int
mcp_cluster_setup_has_parameters(const mcp_cluster_setup_t *setup)
{
    return setup->begun;
}


const char *
mcp_cluster_setup_warning(const mcp_cluster_setup_t *setup, int apache)
{
    unsigned  option;

    for (option = 0; option < MCP_CLUSTER_OPTION_COUNT; option++) {
        if (setup->set & mcp_cluster_bit(option)) {
            return mcp_cluster_options[option].names[apache];
        }
    }

    if (setup->has_sync) {
        return apache ? "MCPClusterSync" : "mcp_cluster_sync";
    }

    return NULL;
}


/* Returns the reason why an option has no effect, or NULL if it has an
 * effect. */
static const char *
mcp_cluster_idle(const mcp_cluster_setup_t *setup, unsigned option, int tls,
    int apache)
{
    switch (option) {

    case MCP_CLUSTER_CA:
    case MCP_CLUSTER_CERTIFICATE:
    case MCP_CLUSTER_CERTIFICATE_KEY:
    case MCP_CLUSTER_VERIFY:
    case MCP_CLUSTER_SERVER_NAME:
        break;

    default:
        return NULL;
    }

    if (!tls) {
        return apache ? "no URL of MCPCluster begins with rediss://, so the "
                        "connection to Redis has no TLS"
                      : "no URL of \"mcp_cluster\" begins with rediss://, so "
                        "the connection to Redis has no TLS";
    }

    if (option == MCP_CLUSTER_CA && !setup->conf.tls_verify) {
        return apache ? "MCPClusterVerify is off"
                      : "\"mcp_cluster_verify\" is off";
    }

    return NULL;
}


int
mcp_cluster_setup_idle(const mcp_cluster_setup_t *setup, int tls, int apache,
    unsigned *position, char *text)
{
    unsigned     option;
    const char  *why, *quote;

    apache = apache != 0;
    quote = apache ? "" : "\"";

    while (*position < MCP_CLUSTER_OPTION_COUNT) {
        option = (*position)++;
        why = mcp_cluster_idle(setup, option, tls, apache);

        if (why && (setup->set & mcp_cluster_bit(option))) {
            (void) mcp_setup_fail(text, "%s%s%s has no effect: %s", quote,
                                  mcp_cluster_options[option].names[apache],
                                  quote, why);
            return 1;
        }
    }

    return 0;
}


static void
mcp_cluster_ports(mcp_cluster_conf_t *conf)
{
    size_t  i;

    for (i = 0; i < conf->n_seeds; i++) {
        if (conf->seeds[i].host.len && conf->seeds[i].port == 0) {
            conf->seeds[i].port = conf->sentinel.len
                                  ? MCP_CLUSTER_SENTINEL_PORT
                                  : MCP_CLUSTER_PORT;
        }
    }
}


int
mcp_cluster_setup_finish(mcp_cluster_setup_t *setup,
    const mcp_cluster_conf_t **conf, int apache, char *error)
{
    mcp_cluster_conf_t  *c = &setup->conf;

    if (c->n_seeds == 0) {
        return mcp_setup_fail(error, "a Redis URL is missing: write "
                              MCP_CLUSTER_URL_FORM);
    }

    if (c->user.len && c->password.len == 0) {
        return mcp_setup_fail(error, "user \"%.*s\" has no password: set "
                              "password_file=", mcp_setup_quote(c->user));
    }

    if (c->sentinel_user.len && c->sentinel_password.len == 0) {
        return mcp_setup_fail(error, "sentinel_user=%.*s has no password: set "
                              "sentinel_password_file=",
                              mcp_setup_quote(c->sentinel_user));
    }

    if (c->sentinel_password.len && c->sentinel.len == 0) {
        return mcp_setup_fail(error, "sentinel_password_file= has no effect: "
                              "set sentinel=");
    }

    if ((c->tls_certificate.len == 0) != (c->tls_certificate_key.len == 0)) {
        return mcp_setup_fail(
            error, "only one of %s and %s is set: set both",
            mcp_cluster_options[MCP_CLUSTER_CERTIFICATE].names[apache != 0],
            mcp_cluster_options[MCP_CLUSTER_CERTIFICATE_KEY]
                .names[apache != 0]);
    }

    if (c->prefix.len == 0) {
        c->prefix = mcp_str("{mcp}");
    }

    mcp_cluster_ports(c);

    *conf = c;

    return MCP_OK;
}


int
mcp_cluster_conf_is_open(const mcp_cluster_conf_t *conf)
{
    size_t     i;
    mcp_str_t  host;

    for (i = 0; i < conf->n_seeds && conf->password.len == 0; i++) {
        host = conf->seeds[i].host;

        if (host.len && !mcp_str_case_eq(host, mcp_str("localhost"))
            && !mcp_str_eq(host, mcp_str("::1"))
            && (host.len < 4 || memcmp(host.data, "127.", 4) != 0))
        {
            return 1;
        }
    }

    return 0;
}
