/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A FastCGI responder for measurements: one process with epoll, which does
 * nothing but the protocol, so that mainly the server in front of it is
 * measured.
 *
 *     backend PORT
 *
 * The member "name" in the request's body chooses the response:
 *
 *   echo    a small JSON result at once
 *   stream  n events of 200 bytes as fast as possible, then the result
 *   tick    n events, one every ms milliseconds, each with the time
 *           (CLOCK_MONOTONIC, ns) at which it was written
 *   hang    one event, then nothing
 *
 * "n" and "ms" are members of the body.  Events are server-sent events.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>


#define MAX_FD      65536
#define IN_MAX      65536

#define BEGIN       1
#define ABORT       2
#define END         3
#define PARAMS      4
#define STDIN       5
#define STDOUT      6


typedef struct {
    int            fd;
    int            timer;          /* descriptor of the timer; -1 if none */
    int            is_timer;       /* 1 if this entry is a timer; fd is then
                                      that of the timer's connection */
    unsigned char  in[IN_MAX];
    size_t         in_len;
    char           body[8192];
    size_t         body_len;
    int            keep;
    char          *out;
    size_t         out_len, out_pos, out_cap;
    long           n, done;
    unsigned       writing:1;
    unsigned       close:1;
} peer_t;


static peer_t  *peers[MAX_FD];
static int      ep;


static void
put(peer_t *p, const void *data, size_t len)
{
    if (p->out_len + len > p->out_cap) {
        p->out_cap = (p->out_len + len) * 2;
        p->out = realloc(p->out, p->out_cap);
    }

    memcpy(p->out + p->out_len, data, len);
    p->out_len += len;
}


static void
record(peer_t *p, int type, const void *data, size_t len)
{
    unsigned char  head[8] = { 1, (unsigned char) type, 0, 1,
                               (unsigned char) (len >> 8),
                               (unsigned char) len, 0, 0 };

    put(p, head, 8);
    put(p, data, len);
}


static void
text(peer_t *p, const char *s)
{
    record(p, STDOUT, s, strlen(s));
}


static void
finish(peer_t *p)
{
    unsigned char  end[8] = { 0 };

    record(p, STDOUT, "", 0);
    record(p, END, end, 8);

    if (!p->keep) {
        p->close = 1;
    }
}


static void
drop(peer_t *p)
{
    if (p->timer >= 0) {
        free(peers[p->timer]);
        peers[p->timer] = NULL;
        close(p->timer);
    }

    peers[p->fd] = NULL;
    close(p->fd);
    free(p->out);
    free(p);
}


static int
flush(peer_t *p)
{
    ssize_t             n;
    struct epoll_event  e;

    while (p->out_pos < p->out_len) {
        n = write(p->fd, p->out + p->out_pos, p->out_len - p->out_pos);

        if (n < 0) {
            if (errno != EAGAIN) {
                drop(p);
                return -1;
            }

            if (!p->writing) {
                p->writing = 1;
                e.events = EPOLLIN | EPOLLOUT;
                e.data.fd = p->fd;
                epoll_ctl(ep, EPOLL_CTL_MOD, p->fd, &e);
            }

            return 0;
        }

        p->out_pos += (size_t) n;
    }

    p->out_len = p->out_pos = 0;

    if (p->writing) {
        p->writing = 0;
        e.events = EPOLLIN;
        e.data.fd = p->fd;
        epoll_ctl(ep, EPOLL_CTL_MOD, p->fd, &e);
    }

    if (p->close) {
        drop(p);
        return -1;
    }

    return 0;
}


static uint64_t
now(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return (uint64_t) ts.tv_sec * 1000000000ULL + (uint64_t) ts.tv_nsec;
}


static void
event(peer_t *p, long i, int pad)
{
    char  buf[400];

    snprintf(buf, sizeof(buf),
             "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
             "\"params\":{\"progressToken\":\"t\",\"progress\":%ld,"
             "\"message\":\"%020llu %0*d\"}}\n\n", i,
             (unsigned long long) now(), pad, 0);
    text(p, buf);
}


static void
result(peer_t *p)
{
    text(p, "data: {\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}\n\n");
    finish(p);
}


static long
number(peer_t *p, const char *key, long otherwise)
{
    char  *s;

    s = strstr(p->body, key);

    return s ? atol(s + strlen(key)) : otherwise;
}


static void
tick_start(peer_t *p)
{
    int                 fd;
    long                ms;
    peer_t             *t;
    struct epoll_event  e;
    struct itimerspec   its;

    ms = number(p, "\"ms\":", 10);
    fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

    its.it_interval.tv_sec = ms / 1000;
    its.it_interval.tv_nsec = ms % 1000 * 1000000;
    its.it_value = its.it_interval;
    timerfd_settime(fd, 0, &its, NULL);

    t = calloc(1, sizeof(peer_t));
    t->is_timer = 1;
    t->fd = p->fd;
    peers[fd] = t;
    p->timer = fd;

    e.events = EPOLLIN;
    e.data.fd = fd;
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
}


static void
tick(int fd)
{
    peer_t    *p;
    uint64_t   expired;

    if (read(fd, &expired, 8) != 8) {
        return;
    }

    p = peers[peers[fd]->fd];

    event(p, ++p->done, 60);

    if (p->done >= p->n) {
        free(peers[fd]);
        peers[fd] = NULL;
        close(fd);
        p->timer = -1;
        result(p);
    }

    flush(p);
}


static void
run(peer_t *p)
{
    long  i;

    p->body[p->body_len] = '\0';
    p->n = number(p, "\"n\":", 10);
    p->done = 0;

    if (strstr(p->body, "\"name\":\"stream\"")) {
        text(p, "Content-Type: text/event-stream\r\n\r\n");

        for (i = 1; i <= p->n; i++) {
            event(p, i, 60);
        }

        result(p);

    } else if (strstr(p->body, "\"name\":\"tick\"")) {
        text(p, "Content-Type: text/event-stream\r\n\r\n");
        tick_start(p);

    } else if (strstr(p->body, "\"name\":\"hang\"")) {
        text(p, "Content-Type: text/event-stream\r\n\r\n");
        event(p, 1, 0);

    } else {
        text(p, "Content-Type: application/json\r\n\r\n"
                "{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}");
        finish(p);
    }

    p->body_len = 0;
    flush(p);
}


static void
input(peer_t *p)
{
    int            type, fd;
    size_t         len, pad, used;
    ssize_t        n;
    unsigned char *r;

    fd = p->fd;

    for ( ;; ) {
        n = read(p->fd, p->in + p->in_len, sizeof(p->in) - p->in_len);

        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            drop(p);
            return;
        }

        if (n < 0) {
            return;
        }

        p->in_len += (size_t) n;
        used = 0;

        while (p->in_len - used >= 8) {
            r = p->in + used;
            type = r[1];
            len = (size_t) r[4] << 8 | r[5];
            pad = r[6];

            if (p->in_len - used < 8 + len + pad) {
                break;
            }

            used += 8 + len + pad;

            if (type == BEGIN) {
                p->keep = r[8 + 2] & 1;
                p->body_len = 0;

            } else if (type == STDIN && len) {
                if (p->body_len + len < sizeof(p->body)) {
                    memcpy(p->body + p->body_len, r + 8, len);
                    p->body_len += len;
                }

            } else if (type == STDIN) {
                run(p);

                if (peers[fd] != p) {
                    return;
                }
            }
        }

        memmove(p->in, p->in + used, p->in_len - used);
        p->in_len -= used;
    }
}


int
main(int argc, char **argv)
{
    int                 s, fd, i, n, one;
    peer_t             *p;
    struct rlimit       rl;
    struct sockaddr_in  sin;
    struct epoll_event  e, events[256];

    if (argc != 2) {
        return 2;
    }

    getrlimit(RLIMIT_NOFILE, &rl);
    rl.rlim_cur = rl.rlim_max;
    setrlimit(RLIMIT_NOFILE, &rl);

    one = 1;
    s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    memset(&sin, 0, sizeof(sin));
    sin.sin_family = AF_INET;
    sin.sin_port = htons((uint16_t) atoi(argv[1]));
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

    if (bind(s, (struct sockaddr *) &sin, sizeof(sin)) || listen(s, 4096)) {
        perror("listen");
        return 1;
    }

    ep = epoll_create1(0);
    e.events = EPOLLIN;
    e.data.fd = s;
    epoll_ctl(ep, EPOLL_CTL_ADD, s, &e);

    for ( ;; ) {
        n = epoll_wait(ep, events, 256, -1);

        for (i = 0; i < n; i++) {
            fd = events[i].data.fd;

            if (fd == s) {
                while ((fd = accept4(s, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    if (fd >= MAX_FD) {
                        close(fd);
                        continue;
                    }

                    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
                               sizeof(one));
                    p = calloc(1, sizeof(peer_t));
                    p->fd = fd;
                    p->timer = -1;
                    peers[fd] = p;
                    e.events = EPOLLIN;
                    e.data.fd = fd;
                    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
                }

                continue;
            }

            p = peers[fd];

            if (p == NULL) {
                continue;
            }

            if (p->is_timer) {
                tick(fd);
                continue;
            }

            if ((events[i].events & EPOLLOUT) && flush(p) < 0) {
                continue;
            }

            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
                input(p);
            }
        }
    }
}
