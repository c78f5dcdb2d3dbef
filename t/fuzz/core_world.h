/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The model of mcp_core_fuzz.c: its clients, the messages that were sent to
 * them, and the conditions that must always hold.
 *
 * Each message of a backend, a publisher or an answering client contains a
 * mark: @person.request.kind.number@.  A person is a session.  The run fails
 * if a session reads a mark of another one; if an event has another content
 * than at its first reading; if a message between two others of a request is
 * missing, or comes twice; and if a request has a second response.
 */


#ifndef CORE_WORLD_H_INCLUDED
#define CORE_WORLD_H_INCLUDED


#define DRIVER_NODES  3
#define DRIVER_ZONE   (256 * 1024)

#include "core_driver.h"

#include "store_verify.h"


#define PERSONS   12
#define RECORDS   48
#define CLIENTS   10
#define STREAMS   64
#define EVENTS    512
#define TOKENS    32
#define TOKEN     "\"resumeToken\":\""
#define EVERYBODY 99                   /* the person in marks of broadcasts */


#define must(condition)                                                       \
    if (!(condition)) {                                                       \
        fprintf(stderr, "%s:%d: step %u: %s\n", __FILE__, __LINE__, step,     \
                #condition);                                                  \
        abort();                                                              \
    }

#define trace(...)                                                            \
    if (tracing) {                                                            \
        fprintf(stderr, "%3u: ", step);                                       \
        fprintf(stderr, __VA_ARGS__);                                         \
        fputc('\n', stderr);                                                  \
    }


typedef struct {
    char         session[MCP_SESSION_TEXT_MAX];    /* empty: no session */
    const char  *principal;
    mcp_str_t    address;
    const char  *revision;
    unsigned     ended:1;
} person_t;


/* A request of a client that a backend executes. */
typedef struct {
    unsigned                person;
    mcp_backend_request_t  *breq;      /* its backend request; NULL if none
                                          runs */
    unsigned                headed:1;  /* 1 after the backend sent the head of
                                          its response */
    unsigned                cut:1;     /* 1 after the backend sent part of a
                                          line, or its final message */
    unsigned                type;      /* type of the backend's answer */
    unsigned                said;      /* number of progress messages of the
                                          backend that the core accepted */
    unsigned                posted;    /* number of published messages that the
                                          core accepted */
    unsigned                asked;
    char                    publish[512];  /* publish URL of the request */
} record_t;


/* The content of an event at its first reading. */
typedef struct {
    unsigned     known:1;
    unsigned     response:1;           /* 1 if the event is the final response
                                          of its request */
    char         what;                 /* kind in the mark of the event; 0 if
                                          the event has no mark */
    unsigned     request;
    unsigned     number;
} event_t;


typedef struct {
    char         id[MCP_STREAM_TEXT_LEN + 1];
    unsigned     person;
    unsigned     last;                 /* highest known number of an event */
    event_t      events[EVENTS];
} stream_t;


typedef struct {
    client_t     c;
    unsigned     used:1;
    unsigned     person;
    unsigned     process;
    unsigned     after:1;              /* 1 if the connection's request has
                                          Last-Event-ID */
    unsigned     placed:1;             /* 1 if "cursor" is known */
    unsigned     gap:1;                /* 1 if a lost event was reported */
    unsigned     answered:1;           /* 1 if the connection got an interim
                                          response */
    stream_t    *stream;               /* NULL while the stream is not known */
    unsigned     cursor;
    char         target[1024];         /* target of the connection's request */
    char         last[64];
} conn_t;


typedef struct {
    char         kind;                 /* r: resume token of a call; n: a
                                          backend's; s: token of a stream; l:
                                          link; q: id of a question */
    unsigned     person;
    unsigned     request;              /* request to which it belongs */
    char         stream[MCP_STREAM_TEXT_LEN + 1];
    char         text[512];
} token_t;


typedef struct {
    unsigned     person;
    unsigned     request;
    char         what;
    unsigned     number;
} mark_t;


static driver_t   d;
static unsigned   step;
static int        tracing;
static person_t   persons[PERSONS];
static unsigned   n_persons;
static record_t   records[RECORDS];
static unsigned   n_records;           /* records[0] is not used */
static conn_t     conns[CLIENTS];
static stream_t   streams[STREAMS];
static unsigned   n_streams;
static token_t    tokens[TOKENS];
static unsigned   n_tokens;            /* number of tokens received until now;
                                          tokens[] has the latest */
static unsigned   broadcasts;
static unsigned   unsure;              /* number of broadcasts whose
                                          publisher's process died before the
                                          publisher got the response */


/* --- marks --- */

static char *
mark_print(char *p, unsigned person, unsigned request, char what,
    unsigned number)
{
    return p + sprintf(p, "@%u.%u.%c.%u@", person, request, what, number);
}


/* Finds the first mark at or after p.  Returns the text after it, or NULL if
 * there is none. */
static const char *
mark_find(const char *p, mark_t *mark)
{
    int  n;

    for (p = strchr(p, '@'); p; p = strchr(p + 1, '@')) {
        n = 0;

        if (sscanf(p, "@%u.%u.%c.%u@%n", &mark->person, &mark->request,
                   &mark->what, &mark->number, &n) == 4
            && n)
        {
            return p + n;
        }
    }

    return NULL;
}


/* Checks that a text for a person has no mark of another person, except of
 * broadcasts. */
static void
marks_check(const char *text, unsigned person)
{
    mark_t  mark;

    while ((text = mark_find(text, &mark)) != NULL) {
        if (mark.person != person && mark.person != EVERYBODY) {
            fprintf(stderr, "step %u: of %u.%u.%c.%u at %u\n", step,
                    mark.person, mark.request, mark.what, mark.number,
                    person);
            abort();
        }
    }
}


/* --- tokens that a client has received --- */

static token_t *
learn(char kind, unsigned person, unsigned request, const char *text,
    size_t len)
{
    unsigned   i;
    token_t   *t;

    if (len == 0 || len >= sizeof(t->text)) {
        return NULL;
    }

    for (i = 0; i < TOKENS && i < n_tokens; i++) {
        t = &tokens[i];

        if (t->kind == kind && strlen(t->text) == len
            && memcmp(t->text, text, len) == 0)
        {
            return t;
        }
    }

    t = &tokens[n_tokens++ % TOKENS];
    t->kind = kind;
    t->person = person;
    t->request = request;
    t->stream[0] = '\0';
    memcpy(t->text, text, len);
    t->text[len] = '\0';

    return t;
}


static void
learn_all(char kind, unsigned person, unsigned request, const char *text,
    const char *before)
{
    while ((text = strstr(text, before)) != NULL) {
        text += strlen(before);
        learn(kind, person, request, text, strcspn(text, "\"\n"));
    }
}


static void
learn_text(unsigned person, const char *text)
{
    token_t     *t;
    const char  *p;
    unsigned     request;

    /* the request of the token, by the ids in the text; 0 if unknown */

    p = strstr(text, "\"requestId\":");
    request = p ? (unsigned) atoi(p + 12) : 0;

    if (request == 0 && (p = strstr(text, "\"id\":")) != NULL) {
        request = (unsigned) atoi(p + 5);
    }

    if (request > n_records) {
        request = 0;
    }

    learn_all('n', person, request, text, "\"nextResumeToken\":\"");

    if (strstr(text, "stream/create") && (p = strstr(text, TOKEN)) != NULL) {
        p += sizeof(TOKEN) - 1;
        t = learn('s', person, request, p, strcspn(p, "\""));
        p = strstr(text, "\"streamId\":\"");

        if (t && p && strlen(p) > 12 + MCP_STREAM_TEXT_LEN) {
            memcpy(t->stream, p + 12, MCP_STREAM_TEXT_LEN);
            t->stream[MCP_STREAM_TEXT_LEN] = '\0';
        }

    } else {
        learn_all('r', person, request, text, TOKEN);
    }

    if (strstr(text, "\"method\":\"elicitation")
        || strstr(text, "\"method\":\"roots"))
    {
        learn_all('q', person, request, text, "\"id\":\"");
    }
}


/* Returns a token of this kind, only one of the person if "choice" is even;
 * NULL if there is none. */
static token_t *
token_any(char kind, unsigned person, unsigned choice)
{
    unsigned  i, k, n;

    n = n_tokens < TOKENS ? n_tokens : TOKENS;

    for (i = 0; i < n; i++) {
        k = (choice / 2 + i) % n;

        if (tokens[k].kind == kind
            && (choice % 2 || tokens[k].person == person))
        {
            return &tokens[k];
        }
    }

    return NULL;
}


/* --- streams --- */

static stream_t *
stream_of(const char *id, unsigned person)
{
    unsigned  i;

    for (i = 0; i < n_streams; i++) {
        if (memcmp(streams[i].id, id, MCP_STREAM_TEXT_LEN) == 0) {
            must(streams[i].person == person);
            return &streams[i];
        }
    }

    if (n_streams == STREAMS) {
        return NULL;
    }

    i = n_streams++;
    memset(&streams[i], 0, offsetof(stream_t, events));
    memset(streams[i].events, 0, sizeof(streams[i].events));
    memcpy(streams[i].id, id, MCP_STREAM_TEXT_LEN);
    streams[i].person = person;

    return &streams[i];
}


/*
 * Checks the known events of a stream before event n: the messages of one kind
 * of a request have consecutive numbers, and the mark of the response has the
 * number of the final progress message.  If memory was out, some may be
 * missing, which only the log reports.
 */
static void
stream_check(const stream_t *s, unsigned n)
{
    unsigned        i, whole;
    const event_t  *e, *before;

    e = &s->events[n];
    whole = 1;

    if (e->what == 0) {
        return;
    }

    for (i = n; i-- > 1; ) {
        before = &s->events[i];

        if (!before->known) {
            whole = 0;
            continue;
        }

        if (before->request != e->request || before->what == 0) {
            continue;
        }

        must(!before->response);

        if (e->what == 'e') {
            continue;
        }

        if (before->what != e->what
            && !(e->what == 'r' && before->what == 'b'))
        {
            continue;
        }

        if (e->what == 'r') {
            must(before->number <= e->number);
            must(!whole || before->number == e->number
                 || d.te.tm.failed);
            return;
        }

        must(before->number < e->number);
        must(!whole || before->number + 1 == e->number || d.te.tm.failed
             || (e->what == 'p' && unsure));
        return;
    }

    if (whole && e->what == 'b' && d.te.tm.failed == 0) {
        must(e->number == 1);
    }

    if (whole && e->what == 'r' && d.te.tm.failed == 0) {
        must(e->number == 0);
    }
}


/* Checks event n against events with higher numbers that were read before
 * it. */
static void
stream_check_after(const stream_t *s, unsigned n)
{
    unsigned        i;
    const event_t  *e;

    e = &s->events[n];

    for (i = n + 1; i <= s->last; i++) {
        if (s->events[i].known && s->events[i].what
            && s->events[i].request == e->request)
        {
            stream_check(s, i);
        }
    }
}


static void
stream_event(stream_t *s, unsigned n, const char *data)
{
    mark_t       mark;
    event_t      e;

    memset(&e, 0, sizeof(e));
    e.known = 1;

    if (mark_find(data, &mark) && mark.person == s->person) {
        e.what = mark.what;
        e.request = mark.request;
        must(e.request <= n_records);
        e.number = mark.number;
        e.response = (mark.what == 'r' || mark.what == 'e');
    }

    if (n >= EVENTS) {
        return;
    }

    if (s->events[n].known) {
        must(s->events[n].what == e.what
             && s->events[n].request == e.request
             && s->events[n].number == e.number);
        return;
    }

    s->events[n] = e;

    if (n > s->last) {
        s->last = n;
        stream_check(s, n);

    } else {
        stream_check(s, n);
        stream_check_after(s, n);
    }
}


/* --- the output of a connection --- */

static void
conn_event(conn_t *conn, const char *id, const char *data)
{
    uint64_t   n;
    stream_t  *s;

    s = stream_of(id, conn->person);

    if (s == NULL) {
        return;
    }

    trace("client %u of %u: %.*s %.200s", (unsigned) (conn - conns),
          conn->person, (int) strcspn(id, "\n"), id, data);
    must(conn->stream == NULL || conn->stream == s);
    must(id[MCP_STREAM_TEXT_LEN] == '.');
    must(!conn->answered);
    n = strtoull(id + MCP_STREAM_TEXT_LEN + 1, NULL, 10);

    if (n & MCP_EVENT_ANSWERED) {

        /* an interim response instead of an event: the final message of this
         * connection */

        must(!conn->placed || conn->cursor == (n & ~MCP_EVENT_ANSWERED));
        conn->answered = 1;
        return;
    }

    if (*data == '\0') {

        /* priming event: the position where the stream starts or continues */

        must(!conn->placed || conn->cursor == n);
        conn->stream = s;
        conn->cursor = (unsigned) n;
        conn->placed = 1;
        return;
    }

    if (conn->placed) {
        must(n == conn->cursor + 1);
    }

    conn->stream = s;
    conn->cursor = (unsigned) n;
    conn->placed = 1;
    stream_event(s, (unsigned) n, data);
}


/* Checks one block of an SSE stream, terminated by NUL. */
static void
conn_block(conn_t *conn, const char *block)
{
    const char  *id, *data;

    id = strncmp(block, "id: ", 4) == 0 ? block + 4 : NULL;
    data = strstr(block, "data: ");

    if (data == NULL) {
        must(id == NULL);
        return;
    }

    data += 6;
    must(strchr(data, '\n') == NULL);
    marks_check(data, conn->person);
    learn_text(conn->person, data);

    if (id) {
        conn_event(conn, id, data);
    }
}


static void
conn_links(conn_t *conn)
{
    size_t                 i;
    char                   text[1024];
    const char            *p;
    const mcp_response_t  *r;

    r = mcp_exchange_response(conn->c.x);

    for (i = 0; i < r->n_headers; i++) {
        if (mcp_str_case_eq(r->headers[i].name, mcp_str("link"))
            && r->headers[i].value.len < sizeof(text))
        {
            memcpy(text, r->headers[i].value.data, r->headers[i].value.len);
            text[r->headers[i].value.len] = '\0';
            p = strstr(text, "mcp-stream=");

            if (p) {
                p += 11;
                learn('l', conn->person, 0, p, strcspn(p, "&>"));
            }
        }
    }
}


/* Checks a response that is not a stream: no message before it is missing. */
static void
conn_plain(const char *text)
{
    mark_t  mark;

    while ((text = mark_find(text, &mark)) != NULL) {
        must(mark.what != 'r' || mark.number == 0 || d.te.tm.failed);
    }
}


/* Checks the complete blocks of a stream that arrived since the previous
 * call. */
static void
conn_check(conn_t *conn)
{
    char      *p, *end;
    client_t  *c;

    c = &conn->c;

    if (c->x == NULL || c->status == 0) {
        return;
    }

    c->text[c->len] = '\0';
    must(strlen(c->text) == c->len);

    if (!c->streaming) {
        must(c->status >= 200 && c->status < 600);
        marks_check(c->text, conn->person);
        learn_text(conn->person, c->text);
        conn_plain(c->text);
        c->len = 0;
        return;
    }

    if (c->status == 200) {
        conn_links(conn);
    }

    p = c->text;

    while ((end = strstr(p, "\n\n")) != NULL) {
        *end = '\0';
        conn_block(conn, p);
        p = end + 2;
    }

    c->len -= (size_t) (p - c->text);
    memmove(c->text, p, c->len);
    c->text[c->len] = '\0';
}


#endif /* CORE_WORLD_H_INCLUDED */
