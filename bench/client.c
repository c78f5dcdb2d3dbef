/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The client side of the measurements that wrk cannot make.
 *
 *     client PORT PATH SESSION tick N MS
 *         latency of N live events, one every MS milliseconds
 *     client PORT PATH SESSION wake N MS same|other
 *         the same on a stream that is resumed at the worker of the call, or at
 *         another one (X-Worker)
 *     client PORT PATH SESSION away N MS PORT
 *         the same on a stream that is resumed at another node, at this port
 *     client PORT PATH SESSION replay LAST_EVENT_ID
 *         reading a stream to its end
 *     client PORT PATH SESSION burst N
 *         reading the stream of a call with N events
 *     client PORTS PATH SESSIONS hold N get|post
 *         N idle streams at these ports (8081,8082) in turn, until stdin has a
 *         line
 *     client PORTS PATH SESSIONS hear N get|listen
 *         N listeners at these ports; after each line on stdin, the time until
 *         all have received an event
 *     client PORT - - ping N MS
 *         latency of N PINGs to a Redis, one every MS milliseconds
 *
 * Prints figures as "name value" lines.
 */

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>


static uint64_t
now(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return (uint64_t) ts.tv_sec * 1000000000ULL + (uint64_t) ts.tv_nsec;
}


static int
dial(int port)
{
    int                 fd, one;
    struct sockaddr_in  sin;

    one = 1;
    fd = socket(AF_INET, SOCK_STREAM, 0);
    memset(&sin, 0, sizeof(sin));
    sin.sin_family = AF_INET;
    sin.sin_port = htons((uint16_t) port);
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

    if (connect(fd, (struct sockaddr *) &sin, sizeof(sin))) {
        perror("connect");
        exit(1);
    }

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));

    return fd;
}


static void
request(int fd, const char *method, const char *path, const char *session,
    const char *last, const char *body)
{
    int   n;
    char  buf[4096];

    n = snprintf(buf, sizeof(buf),
                 "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                 "Accept: application/json, text/event-stream\r\n"
                 "Content-Type: application/json\r\n"
                 "Mcp-Session-Id: %s\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
                 method, path, session, last ? "Last-Event-ID: " : "",
                 last ? last : "", last ? "\r\n" : "", strlen(body), body);

    if (write(fd, buf, (size_t) n) != n) {
        perror("write");
        exit(1);
    }
}


static int
compare(const void *a, const void *b)
{
    uint64_t  x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}


static char  buf[1 << 20];


/* Reads n events from fd and stores their latencies in all[]. The first "len"
 * bytes of buf were read before.  Returns the number of events. */
static int
collect(int fd, size_t len, int n, uint64_t *all)
{
    int        k;
    char      *p, *q;
    ssize_t    got;
    uint64_t   t;

    k = 0;

    while (k < n && (got = read(fd, buf + len, sizeof(buf) - len - 1)) > 0) {
        t = now();
        len += (size_t) got;
        buf[len] = '\0';
        p = buf;

        while (k < n && (q = strstr(p, "\"message\":\"")) && strchr(q, '\n')) {
            all[k++] = t - strtoull(q + 11, NULL, 10);
            p = strchr(q, '\n');
        }

        len -= (size_t) (p - buf);
        memmove(buf, p, len);
    }

    return k;
}


static void
report(uint64_t *all, int k)
{
    if (k == 0) {
        fprintf(stderr, "no events\n");
        exit(1);
    }

    qsort(all, (size_t) k, sizeof(uint64_t), compare);
    printf("events %d\np50_us %.1f\np99_us %.1f\n", k, all[k / 2] / 1e3,
           all[k * 99 / 100] / 1e3);
}


static int
tick(int port, const char *path, const char *session, int n, int ms)
{
    int   fd;
    char  body[512];

    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
             "\"params\":{\"name\":\"tick\",\"arguments\":{\"n\":%d,\"ms\":%d},"
             "\"_meta\":{\"progressToken\":\"t\"}}}", n, ms);

    fd = dial(port);
    request(fd, "POST", path, session, NULL, body);

    return fd;
}


static void
do_tick(int port, const char *path, const char *session, int n, int ms)
{
    uint64_t  *all;

    all = calloc((size_t) n + 1, sizeof(uint64_t));
    report(all, collect(tick(port, path, session, n, ms), 0, n, all));
}


static void
do_ping(int port, int n, int ms)
{
    int                 i, ep, fd;
    char                reply[64];
    uint64_t            begin, *all;
    struct epoll_event  ev = { .events = EPOLLIN };

    all = calloc((size_t) n + 1, sizeof(uint64_t));
    fd = dial(port);
    ep = epoll_create1(0);
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);

    for (i = 0; i < n; i++) {
        usleep((useconds_t) ms * 1000);
        begin = now();

        if (write(fd, "PING\r\n", 6) != 6 || epoll_wait(ep, &ev, 1, -1) != 1
            || read(fd, reply, sizeof(reply)) <= 0)
        {
            fprintf(stderr, "no reply\n");
            exit(1);
        }

        all[i] = now() - begin;
    }

    report(all, n);
}


/* Reads until the given text occurs, and copies the value after it to out. */
static void
expect(int fd, size_t *len, const char *what, char *out)
{
    char     *p;
    ssize_t   got;

    for ( ;; ) {
        buf[*len] = '\0';
        p = strstr(buf, what);

        if (p && strchr(p + strlen(what), '\n')) {
            p += strlen(what);
            snprintf(out, 64, "%.*s", (int) strcspn(p, "\r\n"), p);
            return;
        }

        got = read(fd, buf + *len, sizeof(buf) - *len - 1);

        if (got <= 0) {
            fprintf(stderr, "no %s\n", what);
            exit(1);
        }

        *len += (size_t) got;
    }
}


static void
do_wake(int port, const char *path, const char *session, int n, int ms,
    int other)
{
    int        fd, tries;
    char       producer[64], worker[64], id[64];
    size_t     len;
    uint64_t  *all;

    all = calloc((size_t) n + 1, sizeof(uint64_t));

    len = 0;
    fd = tick(port, path, session, n, ms);
    expect(fd, &len, "X-Worker: ", producer);
    expect(fd, &len, "\nid: ", id);
    close(fd);

    for (tries = 0; tries < 200; tries++) {
        len = 0;
        fd = dial(port);
        request(fd, "GET", path, session, id, "");
        expect(fd, &len, "X-Worker: ", worker);

        if ((strcmp(producer, worker) != 0) == other) {
            report(all, collect(fd, 0, n * 3 / 4, all));
            return;
        }

        close(fd);
    }

    fprintf(stderr, "never met the worker\n");
    exit(1);
}


static void
do_away(int port, const char *path, const char *session, int n, int ms,
    int other)
{
    int        fd;
    char       id[64];
    size_t     len;
    uint64_t  *all;

    all = calloc((size_t) n + 1, sizeof(uint64_t));

    len = 0;
    fd = tick(port, path, session, n, ms);
    expect(fd, &len, "\nid: ", id);
    close(fd);

    fd = dial(other);
    request(fd, "GET", path, session, id, "");
    report(all, collect(fd, 0, n * 3 / 4, all));
}


/* Reads a stream to its end: the events after the event id "last", or all
 * events of the call "body". */
static void
do_read(int port, const char *path, const char *session, const char *last,
    const char *body)
{
    int       fd;
    long      events;
    size_t    i, keep;
    ssize_t   got;
    uint64_t  begin, first;

    fd = dial(port);
    begin = now();
    request(fd, last ? "GET" : "POST", path, session, last, body);

    first = 0;
    events = 0;
    keep = 0;

    for ( ;; ) {
        got = read(fd, buf + keep, 1 << 18);

        if (got <= 0) {
            break;
        }

        if (!first) {
            first = now();
        }

        /* count events by "\nid:", also if it is split between two reads */

        got += (ssize_t) keep;

        for (i = 0; i + 4 <= (size_t) got; i++) {
            if (buf[i] == '\n' && memcmp(buf + i, "\nid:", 4) == 0) {
                events++;
            }
        }

        keep = got < 3 ? (size_t) got : 3;

        if (memmem(buf, (size_t) got, "\r\n0\r\n\r\n", 7)
            || memmem(buf, (size_t) got, "\"result\"", 8))
        {
            break;
        }

        memmove(buf, buf + got - keep, keep);
    }

    printf("events %ld\nfirst_us %.1f\ntotal_us %.1f\n", events,
           (double) (first - begin) / 1e3, (double) (now() - begin) / 1e3);
    close(fd);
}


static void
do_burst(int port, const char *path, const char *session, int n)
{
    char  body[512];

    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
             "\"params\":{\"name\":\"stream\",\"arguments\":{\"n\":%d},"
             "\"_meta\":{\"progressToken\":\"t\"}}}", n);

    do_read(port, path, session, NULL, body);
}


/* Reads the next line of a file; after its end continues at its beginning. */
static void
next_line(FILE *f, char line[256])
{
    if (fgets(line, 256, f) == NULL) {
        rewind(f);

        if (fgets(line, 256, f) == NULL) {
            exit(1);
        }
    }

    line[strcspn(line, "\n")] = '\0';
}


/* Returns the next port of a list, "8081,8082". */
static int
next_port(const char **port, const char *ports)
{
    int  n;

    n = atoi(*port);
    *port = strchr(*port, ',');
    *port = *port ? *port + 1 : ports;

    return n;
}


static int
listener(int port, const char *path, const char *session, int modern)
{
    int          fd, n;
    size_t       len;
    char         text[1024], rest[64];
    static char  body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\","
        "\"params\":{\"notifications\":{\"toolsListChanged\":true},\"_meta\":"
        "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";

    fd = dial(port);
    len = 0;

    if (!modern) {
        request(fd, "GET", path, session, NULL, "");
        expect(fd, &len, "HTTP/1.1 200", rest);
        return fd;
    }

    n = snprintf(text, sizeof(text),
                 "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                 "Accept: application/json, text/event-stream\r\n"
                 "Content-Type: application/json\r\n"
                 "MCP-Protocol-Version: 2026-07-28\r\n"
                 "Mcp-Method: subscriptions/listen\r\n"
                 "Content-Length: %zu\r\n\r\n%s",
                 path, sizeof(body) - 1, body);

    if (write(fd, text, (size_t) n) != n) {
        perror("write");
        exit(1);
    }

    expect(fd, &len, "acknowledged", rest);

    return fd;
}


/* Returns the time until each of n sockets has received more data,
 * microseconds. */
static double
on_broadcast(int ep, int n)
{
    int                 i, k;
    uint64_t            begin;
    char               *seen;
    struct epoll_event  events[256];

    begin = now();
    seen = calloc(1 << 20, 1);

    while (n > 0) {
        k = epoll_wait(ep, events, 256, 30000);

        if (k <= 0) {
            fprintf(stderr, "%d have heard nothing\n", n);
            exit(1);
        }

        for (i = 0; i < k; i++) {
            if (read(events[i].data.fd, buf, sizeof(buf)) <= 0) {
                fprintf(stderr, "a listener has ended\n");
                exit(1);
            }

            n -= !seen[events[i].data.fd];
            seen[events[i].data.fd] = 1;
        }
    }

    free(seen);

    return (double) (now() - begin) / 1e3;
}


static void
do_listen(const char *ports, const char *path, const char *sessions, int n,
    int modern)
{
    int                 i, ep, fd;
    char                session[256];
    FILE               *f;
    const char         *port;
    struct epoll_event  e;

    ep = epoll_create1(0);
    f = fopen(sessions, "r");
    port = ports;

    for (i = 0; i < n; i++) {
        next_line(f, session);
        fd = listener(next_port(&port, ports), path, session, modern);
        e.events = EPOLLIN;
        e.data.fd = fd;
        epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
    }

    /* discard data that arrived with the heads of the responses */

    usleep(200000);

    while (epoll_wait(ep, &e, 1, 0) > 0) {
        if (read(e.data.fd, buf, sizeof(buf)) <= 0) {
            exit(1);
        }
    }

    printf("held %d\n", n);
    fflush(stdout);

    while (fgets(session, sizeof(session), stdin)) {
        printf("heard_us %.1f\n", on_broadcast(ep, n));
        fflush(stdout);
    }
}


static void
do_hold(const char *ports, const char *path, const char *sessions, int n,
    int post)
{
    int         i, *fds;
    char        session[256];
    FILE       *f;
    const char *port;

    port = ports;
    fds = calloc((size_t) n, sizeof(int));
    f = fopen(sessions, "r");

    for (i = 0; i < n; i++) {
        next_line(f, session);
        fds[i] = dial(next_port(&port, ports));
        request(fds[i], post ? "POST" : "GET", path, session, NULL,
                post ? "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                       "\"tools/call\",\"params\":{\"name\":\"hang\","
                       "\"arguments\":{},\"_meta\":{\"progressToken\":\"t\"}}}"
                     : "");

        if (read(fds[i], buf, 4096) <= 0) {
            fprintf(stderr, "stream %d refused\n", i);
            exit(1);
        }

        buf[15] = '\0';

        if (strcmp(buf, "HTTP/1.1 200 OK") != 0) {
            fprintf(stderr, "stream %d: %s\n", i, buf);
            exit(1);
        }
    }

    printf("held %d\n", n);
    fflush(stdout);

    if (fgets(buf, 4096, stdin) == NULL) {
        return;
    }
}


int
main(int argc, char **argv)
{
    int            port;
    struct rlimit  rl;

    getrlimit(RLIMIT_NOFILE, &rl);
    rl.rlim_cur = rl.rlim_max;
    setrlimit(RLIMIT_NOFILE, &rl);

    if (argc < 6) {
        return 2;
    }

    port = atoi(argv[1]);

    if (strcmp(argv[4], "tick") == 0 && argc >= 7) {
        do_tick(port, argv[2], argv[3], atoi(argv[5]), atoi(argv[6]));

    } else if (strcmp(argv[4], "wake") == 0 && argc >= 8) {
        do_wake(port, argv[2], argv[3], atoi(argv[5]), atoi(argv[6]),
                strcmp(argv[7], "other") == 0);

    } else if (strcmp(argv[4], "replay") == 0) {
        do_read(port, argv[2], argv[3], argv[5], "");

    } else if (strcmp(argv[4], "burst") == 0) {
        do_burst(port, argv[2], argv[3], atoi(argv[5]));

    } else if (strcmp(argv[4], "away") == 0 && argc >= 8) {
        do_away(port, argv[2], argv[3], atoi(argv[5]), atoi(argv[6]),
                atoi(argv[7]));

    } else if (strcmp(argv[4], "ping") == 0 && argc >= 7) {
        do_ping(port, atoi(argv[5]), atoi(argv[6]));

    } else if (strcmp(argv[4], "hear") == 0 && argc >= 7) {
        do_listen(argv[1], argv[2], argv[3], atoi(argv[5]),
                strcmp(argv[6], "listen") == 0);

    } else if (strcmp(argv[4], "hold") == 0 && argc >= 7) {
        do_hold(argv[1], argv[2], argv[3], atoi(argv[5]),
                strcmp(argv[6], "post") == 0);

    } else {
        return 2;
    }

    return 0;
}
