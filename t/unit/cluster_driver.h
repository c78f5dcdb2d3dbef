/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Processes of a cluster without a Redis server. Each process has a worker, a
 * zone (new or shared with another process), and a link on which the test
 * plays Redis:
 *
 *     process_open(&p);                   opens the link that CONNECT requests
 *     assert_command(&p, "HELLO 2");      checks the next command on the link
 *     process_receive(&p, "+OK\r\n");         sends a reply
 */


#ifndef CLUSTER_DRIVER_H_INCLUDED
#define CLUSTER_DRIVER_H_INCLUDED


#include "test_env.h"

#include "cluster/mcp_cluster_internal.h"
#include "store/mcp_store_own_node.h"


#define CLUSTER_ZONE  (261 * 1024)

#define GOOD_HELLO                                                            \
    "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n"
#define GOOD_ROLE  "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define GOOD_INFO                                                             \
    "$46\r\n# Memory\r\nmaxmemory_policy:noeviction\r\nx:1\r\n\r\n\r\n"
#define GOOD_SHA(c)                                                           \
    "$40\r\n" c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c \
    c c c c c c c c "\r\n"
#define GOOD_SHAS                                                             \
    GOOD_SHA("a") GOOD_SHA("b") GOOD_SHA("c") GOOD_SHA("d") GOOD_SHA("e")     \
    GOOD_SHA("f") GOOD_SHA("0") GOOD_SHA("1") GOOD_SHA("2") GOOD_SHA("3")     \
    GOOD_SHA("4") GOOD_SHA("5") GOOD_SHA("6") GOOD_SHA("7") GOOD_SHA("8")     \
    GOOD_SHA("9") GOOD_SHA("k") GOOD_SHA("u")
#define GOOD_ALL   GOOD_HELLO GOOD_ROLE GOOD_INFO GOOD_SHAS

/* Keys that scripts get from node 1111111111111111. */
#define MEMBER_KEYS                                                           \
    "{mcp}:1:nodes {mcp}:1:x:1111111111111111 {mcp}:1:n:1111111111111111 "    \
    "{mcp}:1:since "
#define REGISTRATION_KEYS  MEMBER_KEYS "{mcp}:1:run {mcp}:1:layout "
#define TAKEOVER_KEYS(id)                                                     \
    MEMBER_KEYS "{mcp}:1:o:1111111111111111 {mcp}:1:g:1111111111111111 "      \
    "{mcp}:1:x:" id " {mcp}:1:o:" id " {mcp}:1:n:" id " {mcp}:1:m:" id " "    \
    "{mcp}:1:g:" id " "


typedef struct {
    test_env_t          te;
    void               *zone;
    int                 borrowed;      /* 1 if zone is another process's */
    mcp_store_t         store;
    mcp_worker_t       *worker;
    mcp_cluster_t      *cluster;
    mcp_cluster_conf_t  conf;
    mcp_link_t         *link;          /* the link of the last CONNECT */
    unsigned            connects;
    unsigned            disconnects;
    int                 connected;     /* 1 from CONNECT until DISCONNECT or
                                          process_lose() */
    int                 stuck;         /* 1 if no output is taken from the
                                          link */
    size_t              step;          /* maximum bytes per write and per
                                          read */
    size_t              taken;         /* bytes of sent that were checked */
    size_t              len;
    char                sent[2097152];

    const char         *probe;         /* replies to the probe */
    int                 has_inbound;         /* 1 if the test plays Redis on the
                                          inbound connection; 0:
                                          process_no_news() does */

    struct {
        int             connected;
        unsigned        connects;
        size_t          taken;
        size_t          len;
        char            sent[262144];
    } inbound;                         /* the inbound connection, for
                                          broadcasts */
} process_t;


static inline int
process_lock(void *ctx)
{
    (void) ctx;

    return MCP_OK;
}


static inline void
process_unlock(void *ctx)
{
    (void) ctx;
}


static inline void
process_wake(void *ctx, unsigned slot)
{
    (void) ctx;
    (void) slot;
}


static inline void
process_ready(void *ctx)
{
    (void) ctx;
}


/* Initializes a process in a slot of a zone: another process's zone, or a new
 * one if zone is NULL. */
static inline void
process_init(process_t *p, void *zone, unsigned slot)
{
    mcp_store_glue_t   glue = { process_lock, process_unlock, p, process_wake,
                                p };
    mcp_worker_glue_t  worker_glue = { process_ready, NULL };

    memset(p, 0, sizeof(process_t));
    test_env_init(&p->te);

    p->step = SIZE_MAX;
    p->probe = GOOD_HELLO GOOD_ROLE "$-1\r\n";
    p->zone = zone ? zone : malloc(CLUSTER_ZONE);
    p->borrowed = zone != NULL;
    assert_non_null(p->zone);

    if (zone == NULL) {
        assert_ok(mcp_store_format(p->zone, CLUSTER_ZONE));
    }

    assert_ok(mcp_store_attach(&p->store, p->zone, &glue, slot, 100 + slot));

    p->worker = mcp_worker_create(&p->te.env, &p->store, &worker_glue);
    assert_non_null(p->worker);

    p->conf.seeds[0].host = mcp_str("one");
    p->conf.seeds[0].port = 6379;
    p->conf.n_seeds = 1;
    p->conf.prefix = mcp_str("{mcp}");
    p->conf.label = mcp_str("here");
    p->conf.timeout = 1000;
    p->conf.outage_timeout = 5000;
    p->conf.node_timeout = 15000;
}


/* Carries out an action of the inbound connection. */
static inline void
process_inbound_action(process_t *p, const mcp_action_t *a)
{
    mcp_str_t  out;

    switch (a->type) {

    case MCP_ACT_CONNECT:
        assert_false(p->inbound.connected);
        p->inbound.connected = 1;
        p->inbound.connects++;
        p->inbound.len = 0;
        p->inbound.taken = 0;
        break;

    case MCP_ACT_WRITE:
        assert_true(p->inbound.connected);

        while ((out = mcp_link_output(a->link)).len) {
            assert_true(p->inbound.len + out.len < sizeof(p->inbound.sent));
            memcpy(p->inbound.sent + p->inbound.len, out.data, out.len);
            p->inbound.len += out.len;
            mcp_link_written(a->link, out.len);
        }

        break;

    default:
        assert_int_equal(a->type, MCP_ACT_DISCONNECT);
        p->inbound.connected = 0;
    }
}


/* Carries out an action of the connection of the probe, which finds no run
 * id. */
static inline void
process_probe_action(process_t *p, const mcp_action_t *a)
{
    mcp_str_t  out;

    switch (a->type) {

    case MCP_ACT_CONNECT:
        mcp_link_opened(a->link);
        break;

    case MCP_ACT_WRITE:

        while ((out = mcp_link_output(a->link)).len) {
            mcp_link_written(a->link, out.len);
        }

        mcp_link_input(a->link, p->probe, strlen(p->probe));
        break;

    default:
        assert_int_equal(a->type, MCP_ACT_DISCONNECT);
    }
}


/* Plays Redis on the inbound connection if the test does not: completes the
 * login, and answers every command that there is no broadcast. */
static inline void
process_no_news(process_t *p)
{
    unsigned     n;
    mcp_link_t  *inbound = &p->cluster->inbound;

    if (p->has_inbound || !p->inbound.connected) {
        return;
    }

    if (inbound->state == MCP_LINK_OPENING) {
        mcp_link_opened(inbound);
        mcp_link_input(inbound, GOOD_ALL, sizeof(GOOD_ALL) - 1);

    } else {
        for (n = inbound->n_pending; n && p->inbound.connected; n--) {
            mcp_link_input(inbound, "*-1\r\n", 5);
        }
    }

    p->inbound.len = 0;
}


static inline void process_actions(process_t *p);


/* Carries out all queued actions, including those that follow from them on the
 * inbound connection. */
static inline void
process_pump(process_t *p)
{
    process_actions(p);

    if (p->cluster) {
        process_no_news(p);
        process_actions(p);
    }
}


static inline void
process_actions(process_t *p)
{
    size_t        n;
    mcp_str_t     out;
    mcp_action_t  a;

    for ( ;; ) {
        mcp_worker_next(p->worker, &a);

        if (a.type != MCP_ACT_NONE && p->cluster
            && a.link == &p->cluster->inbound)
        {
            process_inbound_action(p, &a);
            continue;
        }

        if (a.type != MCP_ACT_NONE && p->cluster
            && a.link == &p->cluster->probe)
        {
            process_probe_action(p, &a);
            continue;
        }

        switch (a.type) {
        case MCP_ACT_NONE:
            return;

        case MCP_ACT_CONNECT:
            assert_false(p->connected);
            p->link = a.link;
            p->connected = 1;
            p->connects++;
            p->len = 0;
            p->taken = 0;
            break;

        case MCP_ACT_WRITE:
            assert_true(p->connected && a.link == p->link);

            while (!p->stuck && (out = mcp_link_output(a.link)).len) {
                n = out.len < p->step ? out.len : p->step;
                assert_true(p->len + n < sizeof(p->sent));
                memcpy(p->sent + p->len, out.data, n);
                p->len += n;
                mcp_link_written(a.link, n);
            }

            break;

        case MCP_ACT_DISCONNECT:
            assert_true(p->connected && a.link == p->link);
            p->connected = 0;
            p->disconnects++;
            break;

        default:
            fail_msg("action %d", (int) a.type);
        }
    }
}


static inline void
process_start(process_t *p)
{
    p->cluster = mcp_cluster_create(p->worker, &p->conf);
    assert_non_null(p->cluster);
    process_pump(p);
}


static inline void
process_free(process_t *p)
{
    mcp_cluster_destroy(p->cluster);
    mcp_worker_destroy(p->worker);
    mcp_store_detach(&p->store);

    if (!p->borrowed) {
        free(p->zone);
    }

    assert_int_equal(p->te.tm.live, 0);
}


static inline void
process_open(process_t *p)
{
    process_pump(p);
    assert_true(p->connected);
    mcp_link_opened(p->link);
    process_pump(p);
}


static inline void
process_input(process_t *p, const char *data, size_t len)
{
    size_t  n;

    while (len > 0 && p->connected) {
        n = len < p->step ? len : p->step;
        mcp_link_input(p->link, data, n);
        data += n;
        len -= n;
        process_pump(p);
    }
}


static inline void
process_receive(process_t *p, const char *text)
{
    process_input(p, text, strlen(text));
}


/* Closes the link as if Redis had closed it or could not be reached. */
static inline void
process_lose(process_t *p, const char *why)
{
    assert_true(p->connected);
    p->connected = 0;
    mcp_link_closed(p->link, why);
    process_pump(p);
}


/* Advances the process's time by ms and calls the timers that expire. */
static inline void
process_wait(process_t *p, uint64_t ms)
{
    uint64_t  end, next;

    end = p->te.now + ms;

    for ( ;; ) {
        process_pump(p);
        next = mcp_worker_deadline(p->worker, NULL);

        if (next > end) {
            break;
        }

        if (next > p->te.now) {
            p->te.now = next;
        }

        mcp_worker_expire(p->worker);
    }

    p->te.now = end;
    process_pump(p);
}


/* The bytes that were written on one connection. */
typedef struct {
    const char  *sent;
    size_t       len;
    size_t      *taken;
} written_t;


static inline size_t
process_number(written_t *w, char kind)
{
    char    *end;
    size_t   n;

    assert_true(*w->taken < w->len);
    assert_int_equal(w->sent[*w->taken], kind);
    n = strtoul(w->sent + *w->taken + 1, &end, 10);
    assert_memory_equal(end, "\r\n", 2);
    *w->taken = (size_t) (end + 2 - w->sent);

    return n;
}


/* Takes the next command and separates its words by spaces. Words of more than
 * 300 bytes, the scripts, are cut to 3 bytes. Bytes that are not printable
 * ASCII become a backslash and hex digits. */
static inline void
process_take(written_t *w, char *out, size_t size)
{
    char         c;
    size_t       i, k, n, len;

    out[0] = '\0';

    if (*w->taken == w->len) {
        return;
    }

    n = process_number(w, '*');

    for (i = 0; i < n; i++) {
        len = process_number(w, '$');

        if (i) {
            strcat(out, " ");
        }

        for (k = 0; k < (len > 300 ? 3 : len); k++) {
            c = w->sent[*w->taken + k];
            snprintf(out + strlen(out), size - strlen(out),
                     c >= 0x20 && c <= 0x7e ? "%c" : "\\%02x",
                     (unsigned char) c);
        }

        *w->taken += len;
        assert_memory_equal(w->sent + *w->taken, "\r\n", 2);
        *w->taken += 2;
    }
}


static inline void
process_command(process_t *p, char *out, size_t size)
{
    written_t  w = { p->sent, p->len, &p->taken };

    process_take(&w, out, size);
}


/* Checks the next command on the inbound connection. */
#define assert_inbound(p, text)                                                \
    do {                                                                       \
        char command_[1024];                                                   \
        written_t w_ = { (p)->inbound.sent, (p)->inbound.len,                  \
            &(p)->inbound.taken };                                             \
                                                                               \
        process_take(&w_, command_, sizeof(command_));                         \
        assert_string_equal(command_, text);                                   \
    } while (0)


#define assert_command(p, text)                                               \
    do {                                                                      \
        char  command_[1024];                                                 \
                                                                              \
        process_command(p, command_, sizeof(command_));                       \
        assert_string_equal(command_, text);                                  \
    } while (0)


/* Opens the link and completes its login. The next command is that of
 * redis/register_node.lua. */
static inline void
process_login(process_t *p)
{
    unsigned  i;

    process_open(p);
    assert_command(p, "HELLO 2");
    assert_command(p, "ROLE");
    assert_command(p, "INFO memory");

    for (i = 0; i < MCP_SCRIPTS; i++) {
        assert_command(p, "SCRIPT LOAD loc");
    }

    assert_command(p, "");
    process_receive(p, GOOD_ALL);
    assert_int_equal(p->cluster->link.state, MCP_LINK_UP);
}


/* Creates the cluster of a process, and opens its link with a login. */
static inline void
process_connect(process_t *p)
{
    process_start(p);
    process_login(p);
}


/* Sends a reply on the inbound connection. */
static inline void
process_inbound_receive(process_t *p, const char *text, size_t len)
{
    mcp_link_input(&p->cluster->inbound, text, len);
    process_pump(p);
}


/* Opens the inbound connection, which the leader of a node has requested, and
 * completes its login. The next command waits for broadcasts. */
static inline void
process_inbound_login(process_t *p)
{
    unsigned  i;

    assert_true(p->inbound.connected);
    mcp_link_opened(&p->cluster->inbound);
    process_pump(p);

    assert_inbound(p, "HELLO 2");
    assert_inbound(p, "ROLE");
    assert_inbound(p, "INFO memory");

    for (i = 0; i < MCP_SCRIPTS; i++) {
        assert_inbound(p, "SCRIPT LOAD loc");
    }

    process_inbound_receive(p, GOOD_ALL, sizeof(GOOD_ALL) - 1);
}


#endif /* CLUSTER_DRIVER_H_INCLUDED */
