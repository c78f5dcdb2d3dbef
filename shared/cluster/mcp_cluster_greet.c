/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is said first on a connection: who we are, which database, whether this
 * is the server that takes writes, and our scripts; all in one go.  A Sentinel
 * is only asked where that server is.
 */


#include <stdio.h>

#include "cluster/mcp_cluster_parts.h"


/* The oldest version whose scripts may do what ours do. */
#define MCP_REDIS_MAJOR  6
#define MCP_REDIS_MINOR  2


int
mcp_greet_mentions(mcp_str_t text, const char *words)
{
    size_t  i, len;

    len = strlen(words);

    for (i = 0; i + len <= text.len; i++) {
        if (memcmp(text.data + i, words, len) == 0) {
            return 1;
        }
    }

    return 0;
}


int
mcp_greet_denies(mcp_str_t text)
{
    size_t  i, len;

    static const char *const  words[] = { "WRONGPASS ", "NOAUTH ", "NOPERM " };

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        len = strlen(words[i]);

        if (text.len >= len && memcmp(text.data, words[i], len) == 0) {
            return 1;
        }
    }

    /* a script may not do something: Redis 6.2 says that somewhere in its text,
     * 7.0 behind "ERR The " */

    return mcp_greet_mentions(text, "user executing the script can't ");
}


/* Fails the link if the reply is an error; 1: it does not go on. */
static int
mcp_greet_failed(mcp_link_t *link, const mcp_reply_t *reply, const char *what)
{
    mcp_str_t  text;

    /* the link is lost: nobody is told twice */

    if (reply == NULL) {
        return 1;
    }

    if (reply->type != MCP_REPLY_ERROR) {
        return 0;
    }

    text = reply->text;

    if (mcp_greet_denies(text)) {
        mcp_cluster_barred(link, what, reply);
        return 1;
    }

    mcp_link_fail(link, "%s: %.*s", what,
                  (int) (text.len < 100 ? text.len : 100), text.data);

    return 1;
}


static void
mcp_greet_confused(mcp_link_t *link, const char *what)
{
    mcp_link_fail(link, "%s: not a reply of Redis", what);
}


/* --- HELLO --- */

/* Returns 1 if a version, "7.0.15", is at least the oldest. */
static int
mcp_greet_version_ok(mcp_str_t version)
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
mcp_greet_hello(void *data, const mcp_reply_t *reply)
{
    size_t       i;
    mcp_link_t  *link;
    mcp_str_t    version;

    link = data;

    if (mcp_greet_failed(link, reply, "HELLO")) {
        return;
    }

    version = mcp_null_str;

    for (i = 0; i + 1 < reply->n; i += 2) {
        if (mcp_reply_is(reply->items[i], "version")) {
            version = mcp_reply_item(reply, i + 1)->text;
        }
    }

    if (version.len == 0) {
        mcp_greet_confused(link, "HELLO");

    } else if (!mcp_greet_version_ok(version)) {
        mcp_link_fail(link, "its version is %.*s, at least %d.%d is needed",
                      (int) (version.len < 20 ? version.len : 20),
                      version.data, MCP_REDIS_MAJOR, MCP_REDIS_MINOR);
    }
}


static int
mcp_greet_send_hello(mcp_link_t *link)
{
    size_t                     n;
    mcp_str_t                  words[5];
    const mcp_cluster_conf_t  *conf;

    conf = link->cluster->conf;
    n = 0;

    words[n++] = mcp_str("HELLO");
    words[n++] = mcp_str("2");

    if (conf->password.len) {
        words[n++] = mcp_str("AUTH");
        words[n++] = conf->user.len ? conf->user : mcp_str("default");
        words[n++] = conf->password;
    }

    return mcp_link_greet(link, words, n, mcp_greet_hello);
}


/* --- SELECT, ROLE, INFO --- */

static void
mcp_greet_selected(void *data, const mcp_reply_t *reply)
{
    (void) mcp_greet_failed(data, reply, "SELECT");
}


static void
mcp_greet_role(void *data, const mcp_reply_t *reply)
{
    mcp_link_t  *link;
    mcp_str_t    role;

    link = data;

    if (mcp_greet_failed(link, reply, "ROLE")) {
        return;
    }

    if (!mcp_reply_is(mcp_reply_item(reply, 0), "master")) {
        role = mcp_reply_item(reply, 0)->text;
        mcp_link_fail(link, "it is no master (%.*s)",
                      (int) (role.len < 20 ? role.len : 20), role.data);
    }
}


/* Returns 1 if some line of INFO is the one given. */
static int
mcp_greet_says(mcp_str_t info, mcp_str_t line)
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


/* What Redis throws away by itself is missed: it should refuse writes. */
static void
mcp_greet_info(void *data, const mcp_reply_t *reply)
{
    char         name[MCP_LINK_NAME_MAX];
    mcp_link_t  *link;

    link = data;

    /* whose user may not ask does without */

    if (reply == NULL || reply->type != MCP_REPLY_TEXT
        || mcp_greet_says(reply->text, mcp_str("maxmemory_policy:noeviction")))
    {
        return;
    }

    mcp_link_name(link, name);
    mcp_worker_log(link->cluster->worker, MCP_LOG_WARN,
                   "cluster: %s may evict keys: set maxmemory-policy to "
                   "noeviction", name);
}


static int
mcp_greet_send_questions(mcp_link_t *link)
{
    char       db[24];
    int        rc;
    mcp_str_t  words[2];

    rc = MCP_OK;

    if (link->cluster->conf->db) {
        words[0] = mcp_str("SELECT");
        words[1].data = db;
        words[1].len = (size_t) (mcp_uint_print(db, link->cluster->conf->db)
                                 - db);
        rc = mcp_link_greet(link, words, 2, mcp_greet_selected);
    }

    if (rc == MCP_OK) {
        words[0] = mcp_str("ROLE");
        rc = mcp_link_greet(link, words, 1, mcp_greet_role);
    }

    if (rc == MCP_OK) {
        words[0] = mcp_str("INFO");
        words[1] = mcp_str("memory");
        rc = mcp_link_greet(link, words, 2, mcp_greet_info);
    }

    return rc;
}


/* --- scripts --- */

static void
mcp_greet_loaded(void *data, const mcp_reply_t *reply)
{
    char        *id;
    mcp_link_t  *link;

    link = data;

    if (mcp_greet_failed(link, reply, "SCRIPT LOAD")) {
        return;
    }

    if (reply->type != MCP_REPLY_TEXT || reply->text.len != MCP_SCRIPT_ID_LEN) {
        mcp_greet_confused(link, "SCRIPT LOAD");
        return;
    }

    id = link->cluster->script[link->loaded++];
    memcpy(id, reply->text.data, MCP_SCRIPT_ID_LEN);

    if (link->loaded == MCP_SCRIPTS) {
        mcp_link_greeted(link);
    }
}


static int
mcp_greet_send_scripts(mcp_link_t *link)
{
    int           rc;
    unsigned      i;
    mcp_str_t     words[3];

    link->loaded = 0;
    words[0] = mcp_str("SCRIPT");
    words[1] = mcp_str("LOAD");

    for (i = 0; i < MCP_SCRIPTS; i++) {
        words[2] = mcp_script_source((mcp_script_e) i);
        rc = mcp_link_greet(link, words, 3, mcp_greet_loaded);

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}


void
mcp_link_send_scripts(mcp_link_t *link)
{
    if (mcp_greet_send_scripts(link) != MCP_OK) {
        mcp_link_fail(link, "no memory");
    }
}


/* --- Sentinel --- */

static void
mcp_greet_master(void *data, const mcp_reply_t *reply)
{
    mcp_link_t  *link;

    link = data;

    if (mcp_greet_failed(link, reply, "SENTINEL")) {
        return;
    }

    if (reply->type == MCP_REPLY_NIL) {
        mcp_link_fail(link, "it knows no master of that name");

    } else if (mcp_reply_item(reply, 0)->type != MCP_REPLY_TEXT
               || mcp_reply_item(reply, 1)->type != MCP_REPLY_TEXT)
    {
        mcp_greet_confused(link, "SENTINEL");

    } else {
        mcp_link_redirect(link, reply->items[0]->text, reply->items[1]->text);
    }
}


static int
mcp_greet_ask(mcp_link_t *link)
{
    mcp_str_t  words[3];

    words[0] = mcp_str("SENTINEL");
    words[1] = mcp_str("get-master-addr-by-name");
    words[2] = link->cluster->conf->sentinel;

    return mcp_link_greet(link, words, 3, mcp_greet_master);
}


void
mcp_link_say_hello(mcp_link_t *link)
{
    int  rc;

    if (link->asks) {
        rc = mcp_greet_ask(link);

    } else {
        rc = mcp_greet_send_hello(link);

        if (rc == MCP_OK) {
            rc = mcp_greet_send_questions(link);
        }

        if (rc == MCP_OK) {
            rc = mcp_greet_send_scripts(link);
        }
    }

    if (rc != MCP_OK) {
        mcp_link_fail(link, "no memory");
    }
}
