/* SPDX-License-Identifier: Apache-2.0 */

/* The first commands on a connection, which are sent together: authentication,
 * the choice of the database, and then either the commands of the link's own
 * "query" handler, or the check that the server is a master and the loading of
 * the scripts. A Sentinel gets only its own password and the query for the
 * address of the master. */


#include <stdio.h>

#include "cluster/mcp_cluster_internal.h"


/* The oldest version of Redis that can run the scripts. */
#define MCP_REDIS_MAJOR  6
#define MCP_REDIS_MINOR  2


#define mcp_script(name)                                                      \
    { mcp_lua_##name, &mcp_lua_##name##_len }

static const struct {
    const unsigned char  *text;
    const size_t         *len;
} mcp_scripts[MCP_SCRIPTS] = {
    [MCP_SCRIPT_REGISTER] = mcp_script(register),
    [MCP_SCRIPT_HEARTBEAT] = mcp_script(heartbeat),
    [MCP_SCRIPT_BROADCAST] = mcp_script(broadcast),
    [MCP_SCRIPT_APPEND] = mcp_script(append),
    [MCP_SCRIPT_EVENT] = mcp_script(event),
    [MCP_SCRIPT_RESUME] = mcp_script(resume),
    [MCP_SCRIPT_LOOKUP] = mcp_script(lookup),
    [MCP_SCRIPT_LIST] = mcp_script(list),
    [MCP_SCRIPT_READ_POSITION] = mcp_script(read_position),
    [MCP_SCRIPT_FORGET] = mcp_script(forget),
    [MCP_SCRIPT_CLIENT_INPUT] = mcp_script(client_input),
    [MCP_SCRIPT_TOPIC] = mcp_script(topic),
    [MCP_SCRIPT_QUOTA] = mcp_script(quota),
    [MCP_SCRIPT_TOKEN] = mcp_script(token),
    [MCP_SCRIPT_TAKEOVER] = mcp_script(takeover),
    [MCP_SCRIPT_JOIN] = mcp_script(join),
    [MCP_SCRIPT_KEEP] = mcp_script(keep),
    [MCP_SCRIPT_UPSTREAM_SESSION] = mcp_script(upstream_session)
};


int
mcp_login_mentions(mcp_str_t text, const char *argv)
{
    size_t  i, len;

    len = strlen(argv);

    for (i = 0; i + len <= text.len; i++) {
        if (memcmp(text.data + i, argv, len) == 0) {
            return 1;
        }
    }

    return 0;
}


int
mcp_login_begins(mcp_str_t text, const char *words)
{
    size_t  len;

    len = strlen(words);

    return text.len >= len && memcmp(text.data, words, len) == 0;
}


/* Returns 1 if the error "text" means that Redis denies access: a wrong or
 * missing password, or a command for which the user has no right. If a script
 * has used such a command, the compared words can be anywhere in the error of
 * Redis 6.2, and follow "ERR The " in the error of Redis 7.0. */
int
mcp_login_denies(mcp_str_t text)
{
    return mcp_login_begins(text, "WRONGPASS ")
           || mcp_login_begins(text, "NOAUTH ")
           || mcp_login_begins(text, "NOPERM ")
           || mcp_login_mentions(text, "user executing the script can't ");
}


void
mcp_login_barred(mcp_link_t *link, const char *command,
    const mcp_reply_t *error)
{
    int                        len;
    const mcp_cluster_conf_t  *conf;

    conf = link->cluster->conf;
    len = (int) (error->text.len < 100 ? error->text.len : 100);

    link->handlers->denied(link, error);

    if (mcp_login_begins(error->text, "NOPERM ") && !link->at_sentinel) {
        mcp_link_fail(link, "%s: %.*s: Redis's user \"%.*s\" needs the rules "
                      "~%.*s:* " MCP_CLUSTER_RIGHTS, command, len,
                      error->text.data,
                      conf->user.len ? (int) conf->user.len : 7,
                      conf->user.len ? conf->user.data : "default",
                      (int) conf->prefix.len, conf->prefix.data);

    } else {
        mcp_link_fail(link, "%s: %.*s", command, len, error->text.data);
    }
}


/* Returns 1 if the login cannot continue: the link is lost (reply is NULL), or
 * the reply is an error, for which this function fails the link. Otherwise
 * returns 0. */
static int
mcp_login_failed(mcp_link_t *link, const mcp_reply_t *reply,
    const char *command)
{
    static const char  unknown[] = "ERR unknown command";

    mcp_str_t    text;
    const char  *comma;

    /* the link is lost, which was logged before */

    if (reply == NULL) {
        return 1;
    }

    if (reply->type != MCP_REPLY_ERROR) {
        return 0;
    }

    text = reply->text;

    if (mcp_login_denies(text)) {
        mcp_login_barred(link, command, reply);
        return 1;
    }

    /* the error for an unknown command repeats the arguments, which may contain
     * a password: log only the text before the arguments */

    comma = text.len > sizeof(unknown) ? memchr(text.data, ',', text.len)
                                       : NULL;

    if (comma && memcmp(text.data, unknown, sizeof(unknown) - 1) == 0) {
        text.len = (size_t) (comma - text.data);
    }

    mcp_link_fail(link, "%s: %.*s", command,
                  (int) (text.len < 100 ? text.len : 100), text.data);

    return 1;
}


static void
mcp_login_confused(mcp_link_t *link, const char *command)
{
    mcp_link_fail(link, "%s: the reply does not come from Redis: check the "
                        "address",
                  command);
}


/* --- HELLO --- */

/* Returns 1 if a version such as "7.0.15" is not older than MCP_REDIS_MAJOR
 * and MCP_REDIS_MINOR. */
static int
mcp_login_version_ok(mcp_str_t version)
{
    size_t    i;
    unsigned  part[2], n;

    n = 0;
    part[0] = 0;
    part[1] = 0;

    for (i = 0; i < version.len && n < 2; i++) {
        if (version.data[i] == '.') {
            n++;

        } else if (version.data[i] >= '0' && version.data[i] <= '9'
                   && part[n] < 1000)
        {
            part[n] = part[n] * 10 + (unsigned) (version.data[i] - '0');

        } else {
            return 0;
        }
    }

    return part[0] > MCP_REDIS_MAJOR
           || (part[0] == MCP_REDIS_MAJOR && part[1] >= MCP_REDIS_MINOR);
}


static void
mcp_login_registered(void *data, const mcp_reply_t *reply)
{
    size_t       i;
    mcp_link_t  *link;
    mcp_str_t    version;

    link = data;

    if (mcp_login_failed(link, reply, "HELLO")) {
        return;
    }

    version = mcp_null_str;

    for (i = 0; i + 1 < reply->n; i += 2) {
        if (mcp_reply_is(reply->items[i], "version")) {
            version = mcp_reply_item(reply, i + 1)->text;
        }
    }

    if (version.len == 0) {
        mcp_login_confused(link, "HELLO");

    } else if (!mcp_login_version_ok(version)) {
        mcp_link_fail(link,
                      "the version of Redis is %.*s, but at least %d.%d is "
                      "required",
                      (int) (version.len < 20 ? version.len : 20),
                      version.data, MCP_REDIS_MAJOR, MCP_REDIS_MINOR);
    }
}


static int
mcp_login_send_register(mcp_link_t *link)
{
    size_t                     n;
    mcp_str_t                  argv[5];
    const mcp_cluster_conf_t  *conf;

    conf = link->cluster->conf;
    n = 0;

    argv[n++] = mcp_str("HELLO");
    argv[n++] = mcp_str("2");

    if (conf->password.len) {
        argv[n++] = mcp_str("AUTH");
        argv[n++] = conf->user.len ? conf->user : mcp_str("default");
        argv[n++] = conf->password;
    }

    return mcp_link_login(link, argv, n, mcp_login_registered);
}


/* --- SELECT, ROLE, INFO --- */

static void
mcp_login_selected(void *data, const mcp_reply_t *reply)
{
    (void) mcp_login_failed(data, reply, "SELECT");
}


static void
mcp_login_role(void *data, const mcp_reply_t *reply)
{
    mcp_link_t  *link;
    mcp_str_t    role;

    link = data;

    if (mcp_login_failed(link, reply, "ROLE")) {
        return;
    }

    if (!mcp_reply_is(mcp_reply_item(reply, 0), "master")) {
        role = mcp_reply_item(reply, 0)->text;
        mcp_link_fail(link,
                      "this Redis server is not a master (its role is "
                      "\"%.*s\"): write the URL of the master, or set "
                      "sentinel=",
                      (int) (role.len < 20 ? role.len : 20), role.data);
    }
}


/* Returns 1 if the text of INFO contains the line. */
static int
mcp_login_reply_is(mcp_str_t info, mcp_str_t line)
{
    size_t       len;
    const char  *p, *end, *next;

    p = info.data;
    end = info.data + info.len;

    while (p < end) {
        next = memchr(p, '\r', (size_t) (end - p));
        len = (size_t) ((next ? next : end) - p);

        if (len == line.len && memcmp(p, line.data, len) == 0) {
            return 1;
        }

        p += len + 2;
    }

    return 0;
}


/* Handles the reply to INFO: logs a warning if Redis may evict keys when its
 * memory is full. Redis should reject writes instead. */
static void
mcp_login_info(void *data, const mcp_reply_t *reply)
{
    char         name[MCP_LINK_NAME_MAX];
    mcp_link_t  *link;

    link = data;

    /* a user without the right to run INFO gets no warning */

    if (reply == NULL || reply->type != MCP_REPLY_TEXT
        || mcp_login_reply_is(reply->text,
                              mcp_str("maxmemory_policy:noeviction")))
    {
        return;
    }

    mcp_link_name(link, name);
    mcp_worker_log(link->cluster->worker, MCP_LOG_WARN,
                   "cluster: Redis at %s may evict keys: set maxmemory-policy "
                   "in Redis to noeviction", name);
}


static int
mcp_login_send_select(mcp_link_t *link)
{
    char       db[24];
    mcp_str_t  argv[2];

    if (link->cluster->conf->db == 0) {
        return MCP_OK;
    }

    argv[0] = mcp_str("SELECT");
    argv[1].data = db;
    argv[1].len = (size_t) (mcp_uint_print(db, link->cluster->conf->db) - db);

    return mcp_link_login(link, argv, 2, mcp_login_selected);
}


static int
mcp_login_send_queries(mcp_link_t *link)
{
    int        rc;
    mcp_str_t  argv[2];

    argv[0] = mcp_str("ROLE");
    rc = mcp_link_login(link, argv, 1, mcp_login_role);

    if (rc == MCP_OK) {
        argv[0] = mcp_str("INFO");
        argv[1] = mcp_str("memory");
        rc = mcp_link_login(link, argv, 2, mcp_login_info);
    }

    return rc;
}


/* --- scripts --- */

static void
mcp_login_loaded(void *data, const mcp_reply_t *reply)
{
    char        *id;
    mcp_link_t  *link;

    link = data;

    if (mcp_login_failed(link, reply, "SCRIPT LOAD")) {
        return;
    }

    if (reply->type != MCP_REPLY_TEXT || reply->text.len != MCP_SCRIPT_ID_LEN) {
        mcp_login_confused(link, "SCRIPT LOAD");
        return;
    }

    id = link->cluster->script[link->loaded++];
    memcpy(id, reply->text.data, MCP_SCRIPT_ID_LEN);

    if (link->loaded == MCP_SCRIPTS) {
        mcp_link_logged_in(link);
    }
}


void
mcp_link_send_scripts(mcp_link_t *link)
{
    unsigned   i;
    mcp_str_t  argv[3];

    link->loaded = 0;
    argv[0] = mcp_str("SCRIPT");
    argv[1] = mcp_str("LOAD");

    for (i = 0; i < MCP_SCRIPTS; i++) {
        argv[2] = (mcp_str_t) { (const char *) mcp_scripts[i].text,
                                *mcp_scripts[i].len };

        if (mcp_link_login(link, argv, 3, mcp_login_loaded) != MCP_OK) {
            mcp_link_fail(link, "no memory");
            return;
        }
    }
}


/* --- Sentinel --- */

static void
mcp_login_master(void *data, const mcp_reply_t *reply)
{
    mcp_link_t  *link;

    link = data;

    if (mcp_login_failed(link, reply, "SENTINEL")) {
        return;
    }

    if (reply->type == MCP_REPLY_NIL) {
        mcp_link_fail(link, "Sentinel has no master with this name: "
                            "correct sentinel=");

    } else if (mcp_reply_item(reply, 0)->type != MCP_REPLY_TEXT
               || mcp_reply_item(reply, 1)->type != MCP_REPLY_TEXT)
    {
        mcp_login_confused(link, "SENTINEL");

    } else {
        mcp_link_redirect(link, reply->items[0]->text, reply->items[1]->text);
    }
}


static void
mcp_login_authenticated(void *data, const mcp_reply_t *reply)
{
    (void) mcp_login_failed(data, reply, "AUTH");
}


/* Sends AUTH with the password of the Sentinel, if one is configured. The user
 * name is left out if none is configured, because Sentinels older than 6.2 have
 * no users. Returns the values of mcp_link_login(). */
static int
mcp_login_send_auth(mcp_link_t *link)
{
    size_t                     n;
    mcp_str_t                  argv[3];
    const mcp_cluster_conf_t  *conf;

    conf = link->cluster->conf;
    n = 0;

    if (conf->sentinel_password.len == 0) {
        return MCP_OK;
    }

    argv[n++] = mcp_str("AUTH");

    if (conf->sentinel_user.len) {
        argv[n++] = conf->sentinel_user;
    }

    argv[n++] = conf->sentinel_password;

    return mcp_link_login(link, argv, n, mcp_login_authenticated);
}


static int
mcp_login_query(mcp_link_t *link)
{
    int        rc;
    mcp_str_t  argv[3];

    rc = mcp_login_send_auth(link);
    if (rc != MCP_OK) {
        return rc;
    }

    argv[0] = mcp_str("SENTINEL");
    argv[1] = mcp_str("get-master-addr-by-name");
    argv[2] = link->cluster->conf->sentinel;

    return mcp_link_login(link, argv, 3, mcp_login_master);
}


void
mcp_link_register(mcp_link_t *link)
{
    int  rc, has_query;

    has_query = link->handlers->query != NULL;

    if (link->at_sentinel) {
        rc = mcp_login_query(link);

    } else {
        rc = mcp_login_send_register(link);

        if (rc == MCP_OK) {
            rc = mcp_login_send_select(link);
        }

        if (rc == MCP_OK) {
            rc = has_query ? link->handlers->query(link)
                           : mcp_login_send_queries(link);
        }
    }

    if (rc != MCP_OK) {
        mcp_link_fail(link, "no memory");

    } else if (!link->at_sentinel && !has_query) {
        mcp_link_send_scripts(link);
    }
}
