/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Nodes of a cluster, each with one process and without a web server, and a
 * Redis server of the test. Where redis-server is not installed, begin() skips
 * the test. At the end of a file that uses start(), the tests fail if a script
 * has used a key that it should have got in KEYS (cluster_keys.h).
 *
 *     begin(0, KEY1);                     starts node 0, which registers
 *     command(0, "DBSIZE");               sends a command as an operator would
 *     UNTIL(n_updates == 3);              transfers bytes on all connections
 */


#ifndef CLUSTER_REDIS_H_INCLUDED
#define CLUSTER_REDIS_H_INCLUDED


#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cluster_driver.h"
#include "cluster_keys.h"


#define NODES  4


static char       dir[] = "/tmp/mcp-redis-XXXXXX";
static char       path[64];
static pid_t      redis;
static pid_t      key_checker;
static process_t  nodes[NODES];
static int        fds[NODES];
static int        inbound_fds[NODES];


/* Maximum ms by which node_time advances from one call of real_now() to the
 * next */
#define STEP  20


/* The time of all nodes, and the machine's time at the last call of
 * real_now(), ms. */
static uint64_t   node_time, seen_time;


/* Returns the time of the nodes. It advances like the machine's time, but by
 * at most STEP per call, so that no node misses its heartbeats because a slow
 * machine paused this process. */
static inline uint64_t
real_now(void)
{
    uint64_t         now;
    struct timespec  ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    now = (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;

    if (node_time == 0) {
        node_time = now;
    } else if (now > seen_time) {
        node_time += now - seen_time < STEP ? now - seen_time : STEP;
    }

    seen_time = now;

    return node_time;
}


/* Waits for "ms" milliseconds. The time of Redis and of the nodes advances by
 * as much. */
static inline void
wait_for(unsigned ms)
{
    unsigned  i;

    for (i = 0; i < ms; i += STEP / 2) {
        usleep(STEP / 2 * 1000);
        (void) real_now();
    }
}


static inline int
dial(void)
{
    int                 fd;
    struct sockaddr_un  addr;

    memset(&addr, 0, sizeof(addr));
    addr.sun_family = AF_UNIX;
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);

    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);

    if (connect(fd, (struct sockaddr *) &addr, sizeof(addr)) != 0) {
        close(fd);
        return -1;
    }

    return fd;
}


/* Starts the process that checks the keys of scripts, with a new connection on
 * which Redis sends all commands. */
static inline void
check_keys(int fd)
{
    char  ok[5];

    assert_int_equal(write(fd, "MONITOR\r\n", 9), 9);
    assert_int_equal(read(fd, ok, sizeof(ok)), sizeof(ok));
    key_checker = fork();

    if (key_checker == 0) {
        keys_check(fd);
    }

    close(fd);
}


static inline int
start_redis(int checks_keys)
{
    int  i, fd, null;

    if (mkdtemp(dir) == NULL) {
        return -1;
    }

    snprintf(path, sizeof(path), "%s/socket", dir);
    redis = fork();

    if (redis == 0) {
        null = open("/dev/null", O_RDWR);
        dup2(null, 1);
        dup2(null, 2);
        execlp("redis-server", "redis-server", "--port", "0", "--save", "",
               "--unixsocket", path, "--dir", dir, NULL);
        _exit(127);
    }

    for (i = 0; i < 500; i++) {
        fd = dial();

        if (fd >= 0) {
            if (checks_keys) {
                check_keys(fd);

            } else {
                close(fd);
            }

            return 0;
        }

        if (waitpid(redis, NULL, WNOHANG) == redis) {
            redis = 0;
            return 0;
        }

        usleep(10000);
    }

    return -1;
}


static inline int
start(void **state)
{
    return start_redis(1);
}


/* Starts Redis like start(), but does not check the keys of scripts. For tests
 * in which nodes must not miss heartbeats on a busy machine: MONITOR and the
 * check take processor time. */
static inline int
start_unchecked(void **state)
{
    return start_redis(0);
}


/* Ends Redis. Ends the process with 1 if a script has used a wrong key, because
 * cmocka does not count a clean-up of a group that fails. */
static inline int
stop(void **state)
{
    int  wrong = 0;

    if (redis > 0) {
        kill(redis, SIGKILL);
        waitpid(redis, NULL, 0);
        unlink(path);
    }

    if (key_checker > 0) {
        waitpid(key_checker, &wrong, 0);
    }

    rmdir(dir);

    if (wrong) {
        exit(1);
    }

    return 0;
}


/* Transfers bytes on the link of node i until Redis has replied to all its
 * commands or the link is closed. Opens the connection if the link requests
 * it. */
static inline void
run(int i)
{
    char           buf[4096];
    ssize_t        n;
    process_t     *p = &nodes[i];
    struct pollfd  wait;

    for ( ;; ) {
        p->te.now = real_now();
        mcp_worker_expire(p->worker);
        process_pump(p);

        if (!p->connected) {
            if (fds[i] >= 0) {
                close(fds[i]);
                fds[i] = -1;
            }

            return;
        }

        if (fds[i] < 0) {
            fds[i] = dial();
            assert_true(fds[i] >= 0);
            p->taken = 0;
            p->len = 0;
            mcp_link_opened(p->link);
            continue;
        }

        if (p->taken < p->len) {
            n = write(fds[i], p->sent + p->taken, p->len - p->taken);
            assert_true(n > 0);
            p->taken += (size_t) n;
        }

        p->len -= p->taken;
        memmove(p->sent, p->sent + p->taken, p->len);
        p->taken = 0;

        if (p->cluster->link.n_pending == 0) {
            p->len = 0;
            return;
        }

        wait.fd = fds[i];
        wait.events = POLLIN;
        assert_int_equal(poll(&wait, 1, 5000), 1);
        n = read(fds[i], buf, sizeof(buf));
        assert_true(n > 0);
        process_input(p, buf, (size_t) n);
    }
}


/* Opens a connection, or writes the pending bytes and reads those that have
 * arrived, without waiting. Returns the number of bytes read; 0 if there are
 * none or the connection is closed or was just opened. */
static inline ssize_t
carry_bytes(int *fd, mcp_link_t *link, int connected, const char *sent,
    size_t *taken, size_t len, char *buf, size_t size)
{
    ssize_t        n;
    struct pollfd  wait;

    if (!connected) {
        if (*fd >= 0) {
            close(*fd);
            *fd = -1;
        }

        return 0;
    }

    if (*fd < 0) {
        *fd = dial();
        assert_true(*fd >= 0);
        mcp_link_opened(link);
        return 0;
    }

    if (*taken < len) {
        n = write(*fd, sent + *taken, len - *taken);
        assert_true(n > 0);
        *taken += (size_t) n;
    }

    wait.fd = *fd;
    wait.events = POLLIN;

    if (poll(&wait, 1, 0) != 1) {
        return 0;
    }

    n = read(*fd, buf, size);
    assert_true(n > 0);

    return n;
}


/* If kept is not NULL, carry() appends to it all bytes that it writes on the
 * links, but not the bytes for the inbound connections. */
static char    *kept;
static size_t   kept_len;


/* Transfers the pending bytes of the inbound connection of node i once. */
static inline void
carry_inbound(int i)
{
    char        buf[4096];
    ssize_t     n;
    process_t  *p = &nodes[i];

    n = carry_bytes(&inbound_fds[i], &p->cluster->inbound, p->inbound.connected,
                    p->inbound.sent,
                    &p->inbound.taken, p->inbound.len, buf, sizeof(buf));

    if (n > 0) {
        process_inbound_receive(p, buf, (size_t) n);
    }

    if (p->inbound.taken == p->inbound.len) {
        p->inbound.taken = 0;
        p->inbound.len = 0;
    }
}


/* Transfers the pending bytes of both connections of node i once. */
static inline void
carry(int i)
{
    char        buf[4096];
    ssize_t     n;
    process_t  *p = &nodes[i];

    p->te.now = real_now();
    mcp_worker_expire(p->worker);
    mcp_worker_wake(p->worker);
    process_pump(p);

    if (kept && p->connected && fds[i] >= 0) {
        memcpy(kept + kept_len, p->sent + p->taken, p->len - p->taken);
        kept_len += p->len - p->taken;
    }

    n = carry_bytes(&fds[i], p->link, p->connected, p->sent, &p->taken, p->len,
                    buf, sizeof(buf));

    if (n > 0) {
        process_input(p, buf, (size_t) n);
    }

    p->len -= p->taken;
    memmove(p->sent, p->sent + p->taken, p->len);
    p->taken = 0;

    carry_inbound(i);
    process_pump(p);
}


/* Transfers bytes of the running nodes in "mask" (bit i: node i) until a
 * condition is true. */
#define MASK_UNTIL(mask, true)                                                \
    do {                                                                      \
        int  tries_, i_;                                                      \
                                                                              \
        for (tries_ = 0; !(true); tries_++) {                                 \
            assert_true(tries_ < 10000);                                      \
                                                                              \
            for (i_ = 0; i_ < NODES; i_++) {                                  \
                if (((mask) & (1u << i_)) && nodes[i_].cluster) {             \
                    carry(i_);                                                \
                }                                                             \
            }                                                                 \
                                                                              \
            usleep(1000);                                                     \
        }                                                                     \
    } while (0)

/* Transfers bytes of all running nodes until a condition is true. */
#define UNTIL(true)  MASK_UNTIL(~0u, true)


/* Transfers bytes of node i, whose link was closed, until the link is up
 * again. */
static inline void
rerun(int i)
{
    int  tries;

    for (tries = 0; tries < 500 && nodes[i].cluster->link.state != MCP_LINK_UP;
         tries++)
    {
        run(i);
        usleep(2000);
    }

    assert_int_equal(nodes[i].cluster->link.state, MCP_LINK_UP);
}


static int         has_inbound;              /* 1 if carry() opens the inbound
                                                connections of the nodes that
                                                the test starts; 0 if nothing
                                                opens them, so the nodes get a
                                                timeout that does not expire
                                                during the test */
static unsigned    n_updates;
static mcp_broadcast_t  broadcasts[8];


static inline void
on_broadcast(mcp_worker_t *worker, const mcp_broadcast_t *broadcast)
{
    assert_true(n_updates < 8);
    broadcasts[n_updates++] = *broadcast;
}


static inline void
begin(int i, const char *secret)
{
    mcp_keys_t       keys;

    static uint64_t  names;

    if (redis <= 0) {
        skip();
    }

    process_init(&nodes[i], NULL, 0);
    nodes[i].has_inbound = 1;
    nodes[i].conf.timeout = has_inbound ? 1000 : 60000;
    nodes[i].worker->on_broadcast = on_broadcast;
    fds[i] = -1;
    inbound_fds[i] = -1;
    nodes[i].te.now = real_now();
    nodes[i].te.seed = ++names;                /* so that no two nodes draw the
                                                  same id */
    nodes[i].conf.node_timeout = 500;
    nodes[i].conf.sync = MCP_CLUSTER_SYNC_ON;

    memset(&keys, 0, sizeof(keys));
    assert_ok(mcp_keys_add(&keys, test_str(secret)));

    nodes[i].cluster = mcp_cluster_create(nodes[i].worker, &nodes[i].conf);
    assert_ok(mcp_cluster_keys(nodes[i].cluster, &keys));
    nodes[i].cluster->sender = names;      /* in place of a random name */
    run(i);
}


static inline void
end(int i)
{
    process_free(&nodes[i]);
    nodes[i].cluster = NULL;

    if (fds[i] >= 0) {
        close(fds[i]);
    }

    if (inbound_fds[i] >= 0) {
        close(inbound_fds[i]);
    }
}


static char  said[8192];                       /* INFO is the longest reply */


static inline void
say(void *data, const mcp_reply_t *reply)
{
    assert_non_null(reply);

    if (reply->type == MCP_REPLY_NUMBER) {
        snprintf(said, sizeof(said), "%lld", (long long) reply->number);

    } else {
        snprintf(said, sizeof(said), "%.*s", (int) reply->text.len,
                 reply->text.data);
    }
}


/* Sends a command to Redis on the link of node i, as an operator would, and
 * returns the reply as text. */
static inline const char *
command(int i, const char *text)
{
    size_t      n = 0;
    char        copy[1024], *p, *save;
    mcp_str_t   words[16];

    snprintf(copy, sizeof(copy), "%s", text);

    for (p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
        words[n++] = test_str(p);
    }

    said[0] = '\0';
    assert_ok(mcp_link_send(&nodes[i].cluster->link, words, n, say, NULL));
    run(i);

    return said;
}


/* Calls the handler of the heartbeat timer of node i and waits for the
 * replies. */
static inline void
tick(int i)
{
    nodes[i].cluster->heartbeat.handler(nodes[i].cluster);
    run(i);
}


static inline mcp_node_info_t
node_info(int i)
{
    mcp_node_info_t  f;

    assert_ok(mcp_store_node_info(&nodes[i].store, &f));

    return f;
}


static inline void
all_expire(int i)
{
    mcp_str_t  words[3] = {
        mcp_str("EVAL"),
        mcp_str("for _, k in ipairs(redis.call('KEYS', '*')) do "
                "if redis.call('PTTL', k) < 0 then return k end end "
                "return 'all'"),
        mcp_str("0")
    };

    assert_ok(mcp_link_send(&nodes[i].cluster->link, words, 3, say, NULL));
    run(i);
    assert_string_equal(said, "all");
}


#define KEY1  "0123456789abcdef0123456789abcdef"
#define KEY2  "fedcba9876543210fedcba9876543210"


/* Ends all nodes that are running. */
static inline void
end_all(void)
{
    int  i;

    for (i = 0; i < NODES; i++) {
        if (nodes[i].cluster) {
            end(i);
        }
    }
}


static inline int
end_nodes(void **state)
{
    end_all();

    return 0;
}


/* The main program of a file whose tests need Redis. start is start() or
 * start_unchecked(). Nodes that a test leaves running are ended. */
#define RUN_TESTS_WITH_REDIS(start)  run_tests_(NULL, end_nodes, start, stop)


#endif /* CLUSTER_REDIS_H_INCLUDED */
