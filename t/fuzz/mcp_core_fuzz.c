/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The whole core, driven as by a server with several processes.  The input
 * chooses the actions of clients of several sessions, backends, publishers,
 * time and processes on one store; core_world.h checks the results.  In the
 * end all clients disconnect, and nothing may remain: no memory, no stream, no
 * value.
 *
 * Bytes 0 and 1 are settings; byte 1 divided by 36 is the index in worlds[].
 * Each further byte chooses an action, and the bytes after it its parameters,
 * 0 at the end of the input.  With CORE_FUZZ_TRACE in the environment the
 * actions are printed.
 */


#include "core_world.h"


#define STEPS  256
#define DAY    86400000


int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);


static const uint8_t  *input, *input_end;
static char            body[16384], line[16384];


static unsigned
next(void)
{
    return input < input_end ? *input++ : 0;
}


static unsigned
choose(unsigned n)
{
    return next() % n;
}


/* --- persons --- */

static const char *const  revisions[] = {
    "2025-11-25", "2025-06-18", "2025-03-26"
};

static const char *const  capabilities[] = {
    "{\"sampling\":{},\"elicitation\":{},\"roots\":{}}",
    "{\"elicitation\":{},\"roots\":{},\"resumableRequests\":{},"
        "\"streams\":{}}",
    "{\"elicitation\":{},\"roots\":{},\"resumeTokens\":{}}",
    "{\"experimental\":{\"resumableRequests\":{},\"streams\":{},"
        "\"resumeTokens\":{}},\"elicitation\":{},\"roots\":{}}"
};

static const char *const  principals[] = { "ann", NULL, "bob" };

/* Addresses of clients.  The first and the last belong to one tenant; the
 * third is that of a local client. */
static const mcp_str_t  addresses[] = {
    mcp_str("\300\0\2\1"),
    mcp_str("\x20\x01\x0d\xb8\0\0\0\1\0\0\0\0\0\0\0\1"),
    mcp_null_str,
    mcp_str("\0\0\0\0\0\0\0\0\0\0\xff\xff\300\0\2\1")
};


/* Quotas and sizes of a run. */
typedef struct {
    mcp_quota_key_e  quota_key;
    uint64_t        streams;
    uint64_t        listeners;
    uint64_t        values;
    uint64_t        bytes;
    int             scale;             /* factor for the size of messages */
    uint64_t        stream_buffer;     /* bytes; 0: the default */
    unsigned        before;            /* number of calls that end before the
                                          first action */
} world_t;

static const world_t  worlds[] = {
    { MCP_QUOTA_KEY_OFF, 0, 0, 0, 0, 1, 0, 0 },
    { MCP_QUOTA_KEY_PRINCIPAL, 0, 0, 0, 0, 1, 0, 0 },
    { MCP_QUOTA_KEY_ADDRESS, 0, 0, 0, 0, 6, 64 * 1024, 0 },
    { MCP_QUOTA_KEY_PRINCIPAL, 2, 1, 1, 16 * 1024, 4, 0, 0 },
    { MCP_QUOTA_KEY_ADDRESS, MCP_QUOTA_OFF, MCP_QUOTA_OFF, MCP_QUOTA_OFF,
      MCP_QUOTA_OFF, 6, 128 * 1024, 0 },
    { MCP_QUOTA_KEY_OFF, 0, 0, 0, 0, 6, 64 * 1024, 4 },
    { MCP_QUOTA_KEY_PRINCIPAL, 0, 0, 0, 0, 6, 32 * 1024, 6 },
    { MCP_QUOTA_KEY_ADDRESS, 4, MCP_QUOTA_OFF, 2, 96 * 1024, 6, 64 * 1024,
      0 }
};

static const world_t  *world;


static void
open_session(unsigned process, unsigned how)
{
    person_t         *p;
    static client_t   c;

    if (n_persons == PERSONS) {
        return;
    }

    p = &persons[n_persons];
    memset(p, 0, sizeof(person_t));
    p->principal = principals[how % 3];
    p->address = addresses[n_persons % 4];
    p->revision = revisions[how / 3 % 3];

    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":0,"
             "\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\""
             ",\"capabilities\":%s,\"clientInfo\":{\"name\":\"c\","
             "\"version\":\"1\"}}}", p->revision, capabilities[how / 9 % 4]);

    client_init(&c, NULL);
    c.principal = p->principal;
    c.address = p->address;
    client_send(&d, process, &c, "POST", body);

    if (c.x && c.status == 200) {
        memcpy(p->session, c.session, sizeof(p->session));
        n_persons++;
        trace("session %u: %s %s %s", n_persons - 1, p->revision,
              capabilities[how / 9 % 4], p->principal ? p->principal : "-");
    }

    client_close(&d, &c);
}


/* Returns a person; only seldom one whose session has ended. */
static unsigned
any_person(void)
{
    unsigned  i, k, how;

    how = next();

    for (i = 0; i < n_persons; i++) {
        k = (how + i) % n_persons;

        if (!persons[k].ended || how >= 248) {
            return k;
        }
    }

    return how % n_persons;
}


/* --- processes --- */

static int
is_up(unsigned slot)
{
    return !d.process[slot].paused && d.process[slot].scratch == NULL;
}


/* Returns a process that exists and is not paused. */
static unsigned
any_process(void)
{
    unsigned  i, slot;

    slot = choose(DRIVER_NODES);

    for (i = 0; i < DRIVER_NODES; i++) {
        if (is_up((slot + i) % DRIVER_NODES)) {
            break;
        }
    }

    return (slot + i) % DRIVER_NODES;
}


static void
end_client(conn_t *conn)
{
    conn_check(conn);
    client_close(&d, &conn->c);
    conn->used = 0;
}


static void
reclaim(unsigned slot)
{
    size_t    i;
    unsigned  survivor;
    long      fail_at;

    trace("process %u is dead", slot);

    fail_at = (long) d.te.tm.fail_at;
    d.te.tm.fail_at = 0;
    driver_kill(&d, slot);

    /* the connections of the clients end with their process */

    for (i = 0; i < CLIENTS; i++) {
        if (conns[i].used && conns[i].process == slot) {
            end_client(&conns[i]);
        }
    }

    driver_end_breqs(&d, slot);
    survivor = (slot + 1) % DRIVER_NODES;

    if (d.process[survivor].scratch) {
        survivor = (slot + 2) % DRIVER_NODES;
    }

    d.process[slot].paused = 0;
    driver_killed(&d, slot, survivor);
    d.te.tm.fail_at = (unsigned long) fail_at;
}


/* --- checks after each step --- */

static unsigned
request_of(const mcp_backend_request_t *breq)
{
    unsigned   n;
    mcp_str_t  id;

    id = breq->variables.value[MCP_VARIABLE_REQUEST_ID];

    for (n = 0; id.len; id.data++, id.len--) {
        must(*id.data >= '0' && *id.data <= '9');
        n = n * 10 + (unsigned) (*id.data - '0');
    }

    must(n > 0 && n <= n_records);

    return n;
}


static void
check_breq(mcp_backend_request_t *breq)
{
    char        text[8192];
    record_t   *r;
    mcp_str_t   url;

    r = &records[request_of(breq)];

    /* the body of a backend request has only marks of its client and
     * backend */

    must(breq->body.len < sizeof(text));
    memcpy(text, breq->body.data, breq->body.len);
    text[breq->body.len] = '\0';
    marks_check(text, r->person);

    if (r->breq == breq) {
        return;
    }

    r->breq = breq;
    r->headed = 0;
    r->cut = 0;

    url = breq->variables.value[MCP_VARIABLE_PUBLISH_URL];

    if (url.len > 16 && url.len < sizeof(r->publish)) {
        memcpy(r->publish, url.data + 16, url.len - 16);
        r->publish[url.len - 16] = '\0';
    }
}


static void
look(void)
{
    size_t    i, k;
    unsigned  dead;

    for (i = 0; i < CLIENTS; i++) {
        if (conns[i].used
            && d.process[conns[i].process].scratch == NULL)
        {
            conn_check(&conns[i]);
        }
    }

    for (dead = 0; dead < DRIVER_NODES; dead++) {
        if (d.process[dead].scratch) {
            reclaim(dead);
        }
    }

    for (k = 1; k <= n_records; k++) {
        if (records[k].breq == NULL) {
            continue;
        }

        for (i = 0; i < d.n_breqs && d.breqs[i] != records[k].breq; i++) {
            /* void */
        }

        if (i == d.n_breqs) {
            records[k].breq = NULL;
        }
    }

    for (i = 0; i < d.n_breqs; i++) {
        check_breq(d.breqs[i]);
    }

    for (i = 0; i < CLIENTS; i++) {
        if (conns[i].used && conns[i].c.ended) {
            end_client(&conns[i]);
        }
    }
}


static void
verify(void)
{
    const char  *why;
    unsigned     i;

    d.te.tm.fail_at = 0;

    for (i = 0; i < DRIVER_NODES && !is_up(i); i++) { /* void */ }

    if (i < DRIVER_NODES
        && store_verify(&d.process[i].store, &why) != MCP_OK)
    {
        fprintf(stderr, "step %u: store: %s\n", step, why);
        abort();
    }
}


/* --- clients --- */

static conn_t *
new_client(unsigned person, unsigned process)
{
    unsigned   i;
    conn_t    *conn;

    for (i = 0; i < CLIENTS && conns[i].used; i++) { /* void */ }

    if (i == CLIENTS) {
        i = choose(CLIENTS);
        end_client(&conns[i]);
    }

    conn = &conns[i];
    conn->used = 1;
    conn->person = person;
    conn->process = process;
    conn->after = 0;
    conn->placed = 0;
    conn->gap = 0;
    conn->answered = 0;
    conn->stream = NULL;
    conn->cursor = 0;
    client_init(&conn->c, persons[person].session);
    client_header(&conn->c, "Host", "localhost");
    conn->c.principal = persons[person].principal;
    conn->c.address = persons[person].address;

    return conn;
}


static void
send(conn_t *conn, const char *method, const char *text, unsigned how)
{
    conn->c.cap = how & 1 ? MCP_PULL_MIN : 0;
    conn->c.slow = (how & 6) == 6;
    client_send(&d, conn->process, &conn->c, method, text);
    trace("%s at %u: %d %s%s", method, conn->process, conn->c.status,
          conn->c.streaming ? "stream " : "", conn->c.x ? conn->c.text : "-");

    if (conn->c.next == MCP_NEXT_ERROR) {
        end_client(conn);
    }
}


/* Adds Last-Event-ID with the id of an event of some stream to a request. */
static void
last_event(conn_t *conn, unsigned how)
{
    stream_t  *s;
    uint64_t   n;

    if (n_streams == 0 || how % 4 == 0) {
        return;
    }

    s = &streams[choose(n_streams)];
    n = how % 4 == 1 && s->last ? choose(s->last + 1) : s->last;

    if (how >= 250) {
        n = how * 16777619u;

    } else if (how >= 240) {
        n |= MCP_EVENT_ANSWERED;
    }

    snprintf(conn->last, sizeof(conn->last), "%s.%llu", s->id,
             (unsigned long long) n);
    client_header(&conn->c, "Last-Event-ID", conn->last);

    if (s->person == conn->person) {
        conn->after = 1;
    }
}


/* Sets the position of a connection in a stream: the next event must follow
 * event n. */
static void
place(conn_t *conn, stream_t *s, unsigned n)
{
    conn->stream = s;
    conn->cursor = n;
    conn->placed = 1;
}


static char *
print_call(char *p, unsigned person, unsigned request, unsigned how,
    const char *token)
{
    char  mark[64];

    mark_print(mark, person, request, 'a', 0);
    p += sprintf(p, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":", request);

    switch (how % 8) {

    case 6:
        return p + sprintf(p, "\"resources/%s\",\"params\":{\"uri\":"
                           "\"test://a\",\"_meta\":{\"progressToken\":\"t%u\""
                           "}}}", how & 8 ? "subscribe" : "unsubscribe",
                           request);

    case 7:
        return p + sprintf(p, "\"prompts/get\",\"params\":{\"name\":\"p\","
                           "\"arguments\":{\"a\":\"%s\"},\"_meta\":{"
                           "\"progressToken\":\"t%u\"}}}", mark, request);

    default:
        p += sprintf(p, "\"tools/call\",\"params\":{\"name\":\"%s\","
                     "\"arguments\":{\"a\":1}", how & 8 ? "other" : "echo");

        if (token) {
            p += sprintf(p, ",\"resumeToken\":\"%s\"", token);
        }

        return p + sprintf(p, ",\"_meta\":{\"progressToken\":\"t%u\"}}}",
                           request);
    }
}


static unsigned
new_record(unsigned person)
{
    record_t  *r;

    r = &records[++n_records];
    memset(r, 0, sizeof(record_t));
    r->person = person;

    return n_records;
}


static void
do_call(void)
{
    char      *p;
    token_t   *t;
    conn_t    *conn;
    unsigned   person, how, n;

    person = any_person();
    how = next();

    if (n_records + 4 >= RECORDS || d.n_breqs + 4 >= DRIVER_BREQS) {
        return;
    }

    conn = new_client(person, any_process());
    p = body;

    if (strcmp(persons[person].revision, "2025-03-26") == 0 && how & 16) {
        *p++ = '[';

        for (n = 1 + how % 3; n; n--) {
            p = print_call(p, person, new_record(person), how & 8, NULL);
            *p++ = ',';
        }

        strcpy(p, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}]");

    } else {
        t = how & 32 ? token_any('n', person, next()) : NULL;
        print_call(p, person, new_record(person), how, t ? t->text : NULL);
    }

    trace("call of %u: %s", person, body);
    send(conn, "POST", body, how >> 5);
}


/* Sends GET to the endpoint. */
static void
do_get(void)
{
    conn_t       *conn;
    size_t        headers;
    unsigned      how;
    stream_t     *s;
    uint64_t      n;
    const char   *id;

    conn = new_client(any_person(), any_process());
    how = next();
    headers = conn->c.n_headers;
    last_event(conn, how);
    id = conn->c.n_headers > headers ? conn->last : NULL;
    trace("get of %u after %s", conn->person, id ? id : "nothing");
    n = id ? strtoull(id + MCP_STREAM_TEXT_LEN + 1, NULL, 10) : 0;
    s = id && conn->after ? stream_of(id, conn->person) : NULL;

    if (s && !(n & MCP_EVENT_ANSWERED)) {
        place(conn, s, (unsigned) n);
    }

    send(conn, "GET", "", how >> 3);

    /* a stream of another person is never opened, nor one after an interim
     * response */

    if (id && conn->used && (!conn->after || n & MCP_EVENT_ANSWERED)) {
        must(!conn->c.streaming);
    }
}


static void
do_link(void)
{
    token_t    *t, *q;
    conn_t     *conn;
    unsigned    how, person;

    person = any_person();
    how = next();
    t = token_any('l', person, next());

    if (t == NULL) {
        return;
    }

    conn = new_client(person, any_process());
    snprintf(conn->target, sizeof(conn->target), "/mcp?mcp-stream=%s",
             t->text);
    conn->c.target = conn->target;

    /* without a session any stream of the principal may be resumed */

    if (how & 4) {
        conn->c.headers[2].name = mcp_str("X-None");

        if (persons[person].principal == persons[t->person].principal) {
            conn->person = t->person;
        }
    }

    if (how & 8) {
        last_event(conn, how);
    }

    body[0] = '\0';

    if (how & 16) {
        q = token_any('q', person, next());
        mark_print(line, conn->person, 0, 'i', 0);
        snprintf(body, sizeof(body), "[{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                 "\"result\":{\"action\":\"accept\",\"content\":{\"m\":"
                 "\"%s\"}}}]", q ? q->text : "x", line);
    }

    trace("link of %u: %s", person, body);
    send(conn, how & 16 ? "POST" : "GET", body, how >> 5);
}


static void
do_resume_request(void)
{
    char        params[1200];
    token_t    *t;
    conn_t     *conn;
    stream_t   *s;
    unsigned    how, person;

    static const char *const  methods[] = {
        "requests/getStatus", "requests/resume", "stream/poll",
        "stream/resume", "stream/poll/all", "ping", "logging/setLevel",
        "tools/list"
    };

    person = any_person();
    how = next();
    t = token_any((how % 8) < 2 ? 'r' : 's', person, next());
    s = n_streams ? &streams[choose(n_streams)] : NULL;

    if (how % 8 >= 4) {
        snprintf(params, sizeof(params), "{\"level\":\"%s\"}",
                 how & 16 ? "error" : "debug");

    } else if (t == NULL) {
        return;

    } else if (how % 8 < 2) {
        snprintf(params, sizeof(params), "{\"requestId\":%u,"
                 "\"resumeToken\":\"%s\"}", t->request, t->text);

    } else {
        snprintf(params, sizeof(params), "{\"streamId\":\"%s\","
                 "\"resumeToken\":\"%s\"}", s && how & 16 ? s->id
                 : t->stream, t->text);
    }

    conn = new_client(person, any_process());

    if (how & 8) {
        last_event(conn, how >> 4);
    }

    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":"
             "\"%s\",\"params\":%s}", how % 8 == 1 ? t->request : 1000,
             methods[how % 8], params);
    trace("resume request of %u: %s", person, body);
    send(conn, "POST", body, how >> 5);
}


/* Sends a notification or response of a client. */
static void
do_notify(void)
{
    token_t   *q;
    conn_t    *conn;
    unsigned   how, person;

    person = any_person();
    how = next();
    conn = new_client(person, any_process());
    mark_print(line, person, 0, 'i', 0);

    if (how % 4 == 0) {
        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"method\":"
                 "\"notifications/cancelled\",\"params\":{\"requestId\":%u}}",
                 choose(n_records + 1));

    } else {
        q = token_any('q', person, next());
        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}",
                 q ? q->text : "x", how & 4 ? "\"error\":{\"code\":1,"
                 "\"message\":\"no\"}" : "\"result\":{\"action\":\"accept\"}");
    }

    trace("told by %u: %s", person, body);
    send(conn, "POST", body, 0);
}


/* Ends one session and starts another one. */
static void
do_delete(void)
{
    conn_t    *conn;
    unsigned   person, how, process;

    person = any_person();
    how = next();

    if (how % 4) {
        return;
    }

    process = any_process();
    conn = new_client(person, process);
    trace("delete %u", person);
    send(conn, "DELETE", "", 0);

    if (conn->c.status == 204) {
        persons[person].ended = 1;
    }

    if (is_up(process)) {
        open_session(process, how / 4);
    }
}


/* A client disconnects or reads more, or the server closes its connection. */
static void
do_client(void)
{
    int        i;
    unsigned   how;
    conn_t    *conn;

    conn = &conns[choose(CLIENTS)];
    how = next();

    if (!conn->used || !is_up(conn->process)) {
        return;
    }

    switch (how % 4) {

    case 0:
    case 1:
        trace("client of %u leaves", conn->person);
        end_client(conn);
        break;

    case 2:
        for (i = 0; i < 1 + (int) (how >> 4); i++) {
            if (!conn->c.streaming || conn->c.ended
                || client_pull(&conn->c) != MCP_OK)
            {
                break;
            }
        }

        break;

    default:
        mcp_exchange_close(conn->c.x);
    }

    driver_pump(&d);
}


/* Sends arbitrary bytes as a client. */
static void
do_raw(void)
{
    size_t   len, i;
    conn_t  *conn;

    conn = new_client(any_person(), any_process());
    len = choose(64);

    for (i = 0; i < len; i++) {
        body[i] = (char) next();
        body[i] = body[i] ? body[i] : ' ';
    }

    body[len] = '\0';
    send(conn, "POST", body, 0);
}


/* --- backends and publishers --- */

static record_t *
any_breq(void)
{
    record_t               *r;
    mcp_backend_request_t  *breq;
    unsigned                i, k;

    k = next();

    for (i = 0; i < d.n_breqs; i++) {
        breq = d.breqs[(k + i) % d.n_breqs];
        r = &records[request_of(breq)];

        if (breq->call->worker->store->head == d.zone
            && !((process_t *) breq->call->worker->store->glue.ctx)->paused
            && r->breq == breq)
        {
            return r;
        }
    }

    return NULL;
}


static void
breq_head(record_t *r, unsigned how)
{
    static const char *const  types[] = {
        "application/x-ndjson", "text/event-stream", "application/json",
        "text/plain"
    };

    if (!r->headed) {
        r->headed = 1;
        r->type = how % 16 > 9 ? how % 4 : 0;
        r->cut = (how % 16 > 13);
        mcp_backend_request_head(r->breq,
                                 how % 16 == 15   ? 500
                                 : how % 16 == 14 ? 202
                                                  : 200,
                                 test_str(types[r->type]));
    }
}


static size_t
breq_send(record_t *r, const char *text)
{
    size_t       n;
    static char  event[sizeof(line) + 16];

    if (r->type == 1 && !r->cut) {
        snprintf(event, sizeof(event), "data: %s\n", text);
        text = event;
    }

    n = mcp_backend_request_data(r->breq, text, strlen(text));
    trace("backend of %u: %zu of %.300s", (unsigned) (r - records), n, text);
    driver_pump(&d);

    return n;
}


static void
do_send(void)
{
    char       mark[64];
    unsigned   how, n;
    record_t  *r;

    r = any_breq();
    how = next();

    if (r == NULL) {
        return;
    }

    breq_head(r, how & 1 ? 0 : 13);

    if (r->cut || r->type > 1) {
        return;
    }

    n = (unsigned) (r - records);
    mark_print(mark, r->person, n, 'b', r->said + 1);
    snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"method\":"
             "\"notifications/progress\",\"params\":{\"progressToken\":\"t%u\""
             ",\"progress\":%u,\"message\":\"%s%0*u\"}}\n", n, r->said + 1,
             mark, how < 192 ? 1 + (int) how
             : (int) (how - 191) * 40 * world->scale, 0);

    /* count the message before it is sent, because the call may end in the
     * meantime */

    r->said++;

    if (breq_send(r, line) == 0) {
        r->said--;
    }
}


static void
do_end(void)
{
    char       mark[64];
    unsigned   how, n;
    record_t  *r;

    r = any_breq();
    how = next();

    if (r == NULL) {
        return;
    }

    n = (unsigned) (r - records);
    breq_head(r, how >> 4);
    mark_print(mark, r->person, n, 'r', r->said);

    switch (r->cut ? 6 : how % 8) {

    case 0:
    case 1:
        snprintf(line, sizeof(line), "{\"content\":[{\"type\":\"text\","
                 "\"text\":\"%s\"}]}\n", mark);
        breq_send(r, line);
        break;

    case 2:
        snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%u,"
                 "\"error\":{\"code\":-1,\"message\":\"%s\"}}\n", n, mark);
        breq_send(r, line);
        break;

    case 3:
    case 4:
        mark_print(mark, r->person, n, 'q', ++r->asked);
        snprintf(line, sizeof(line), "{\"resultType\":\"input_required\","
                 "\"inputRequests\":{\"k\":{\"method\":\"elicitation/create\","
                 "\"params\":{\"message\":\"%s\"}}%s},\"requestState\":\"s\"}"
                 "\n", mark, how & 8 ? ",\"r\":{\"method\":\"roots/list\"}"
                 : "");
        breq_send(r, line);
        break;

    case 5:
        snprintf(line, sizeof(line), "{\"content\":[],\"_meta\":{"
                 "\"nextResumeToken\":\"page %u\"}}\n", n);
        breq_send(r, line);
        break;

    default:
        break;
    }

    /* that was the final message: most backends close their connection,
     * immediately or later; some backend requests have ended meanwhile */

    r->cut = 1;

    if (how >= 224) {
        return;
    }

    for (n = 0; n < d.n_breqs && d.breqs[n] != r->breq; n++) { /* void */ }

    if (n < d.n_breqs) {
        backend_end(&d, r->breq, how & 128 ? MCP_FAILURE_REPLY
                                          : MCP_FAILURE_NONE);
    }
}


/* Sends part of a line, or arbitrary bytes, as a backend. */
static void
do_cut(void)
{
    size_t     i, len;
    record_t  *r;

    r = any_breq();
    len = choose(48);

    if (r == NULL) {
        return;
    }

    breq_head(r, next());

    for (i = 0; i < len; i++) {
        line[i] = (char) next();
        line[i] = line[i] ? line[i] : '\n';
    }

    line[len] = '\0';
    r->cut = 1;
    breq_send(r, line);
}


static void
do_publish(void)
{
    char              mark[64], *space;
    record_t         *r;
    unsigned          how, n, process;
    mcp_head_t        head;
    static client_t   c;

    how = next();
    n = n_records ? 1 + choose(n_records) : 0;
    r = &records[n];
    process = any_process();

    memset(&c, 0, offsetof(client_t, text));
    memset(&head, 0, sizeof(mcp_head_t));
    head.method = mcp_str("POST");
    head.local = 1;
    client_header(&c, "Content-Type", "application/json");
    head.headers = c.headers;
    head.n_headers = c.n_headers;

    if (n && r->publish[0] && how % 4) {
        head.path = test_str(r->publish);
        mark_print(mark, r->person, n, how % 32 == 31 ? 'e' : 'p',
                   r->posted + 1);
        snprintf(body, sizeof(body), how % 32 == 31
                 ? "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"m\":\"%s\"}}"
                 : "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\""
                   ",\"params\":{\"progressToken\":\"t%u\",\"progress\":1,"
                   "\"message\":\"%s\"}}", n, mark);

    } else {
        head.path = mcp_str("/publish/static-token");
        mark_print(mark, EVERYBODY, 0, 'p', ++broadcasts);
        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"method\":"
                 "\"notifications/%s\",\"params\":{\"uri\":\"test://a\","
                 "\"_meta\":{\"m\":\"%s%0*d\"}}}", how & 16
                 ? "resources/updated" : "tools/list_changed", mark,
                 how & 32 ? 2000 * world->scale : 1, 0);
    }

    c.x = mcp_exchange_create_publish(d.process[process].worker, &d.endpoint,
                                      mcp_str("static-token"), 0, &c);
    if (c.x == NULL) {
        return;
    }

    c.next = mcp_exchange_head(c.x, &head);

    if (c.next == MCP_NEXT_BODY) {
        space = mcp_exchange_body_space(c.x, strlen(body));

        if (space) {
            memcpy(space, body, strlen(body));
            c.next = mcp_exchange_body(c.x, strlen(body));
        }
    }

    if (c.next == MCP_NEXT_RESPOND && d.process[process].scratch == NULL) {
        driver_respond(&c);
    }

    trace("published: %d %s", c.status, body);

    if ((c.status == 202 || c.status == 0) && n && r->publish[0] && how % 4
        && how % 32 != 31)
    {
        r->posted++;
        unsure += (c.status == 0);
    }

    driver_pump(&d);
    client_close(&d, &c);
}


/* --- time, processes, misfortune --- */

static void
do_wait(void)
{
    unsigned  how;

    static const unsigned  times[] = {
        1, 10, 100, 500, 1000, 1500, 3000, 5000, 10000, 20000, 30000, 60000
    };

    how = next();

    if (how < 240) {
        trace("%u ms", times[how % 12]);
        driver_wait(&d, times[how % 12]);
        return;
    }

    /* the time advances in one step, as if the machine had been suspended */

    trace("%u ms of sleep", (how - 239) * 5000);
    d.te.now += (how - 239) * 5000;
    driver_wait(&d, 1);
}


static void
do_die(void)
{
    unsigned  slot, how;

    slot = choose(DRIVER_NODES);
    how = next();

    if (how & 128) {
        return;                            /* a process dies only seldom, so
                                              that calls can progress */
    }

    if (d.process[slot].paused || how % 4 == 0) {
        reclaim(slot);
        return;
    }

    trace("process %u dies after %u", slot, how / 4);
    d.process[slot].dies_in = how / 4 + 1;
}


static void
do_stop(void)
{
    size_t      i;
    unsigned    slot;
    process_t  *p;

    slot = any_process();
    p = &d.process[slot];
    trace("process %u stops", slot);
    mcp_worker_stop(p->worker, 0);
    driver_pump(&d);
    look();

    if (p->scratch) {
        return;
    }

    for (i = 0; i < CLIENTS; i++) {
        if (conns[i].used && conns[i].process == slot) {
            break;
        }
    }

    if (p->worker->calls == 0 && p->worker->consumers == 0 && i == CLIENTS) {
        d.te.tm.fail_at = 0;
        driver_restart(&d, slot);
        return;
    }

    p->worker->stopping = 0;
}


static void
do_misfortune(void)
{
    unsigned  how, slot;

    how = next();

    switch (how % 4) {

    case 0:
        slot = choose(DRIVER_NODES);
        trace("process %u %s", slot, d.process[slot].paused ? "goes on"
                                                             : "pauses");
        driver_pause(&d, slot, !d.process[slot].paused);
        break;

    case 1:
        d.te.tm.fail_at = 1 + (how >> 2);
        trace("allocation %lu fails", d.te.tm.fail_at);
        break;

    case 2:
        trace("who had the lock dies");
        d.owner_died = 1;
        break;

    default:
        verify();
    }
}


/* --- the run --- */

static void (*const  events[])(void) = {
    do_call, do_send, do_end, do_get, do_client, do_wait, do_resume_request,
    do_link,
    do_notify, do_publish, do_send, do_cut, do_misfortune, do_die, do_stop,
    do_delete, do_raw, do_call, do_send, do_end, do_get
};


/* Makes a call of a person that has ended, whose stream is kept and may be
 * evicted. */
static void
call_before(unsigned person)
{
    char       mark[64];
    unsigned   i, n;
    conn_t    *conn;
    record_t  *r;

    conn = new_client(person, person % DRIVER_NODES);
    n = new_record(person);
    r = &records[n];
    print_call(body, person, n, 0, NULL);
    send(conn, "POST", body, 0);
    look();

    if (r->breq == NULL) {
        return;
    }

    breq_head(r, 0);

    for (i = 0; i < 2 && r->breq; i++) {
        mark_print(mark, person, n, 'b', ++r->said);
        snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"method\":"
                 "\"notifications/progress\",\"params\":{"
                 "\"progressToken\":\"t%u\",\"progress\":%u,\"message\":"
                 "\"%s%012000d\"}}\n", n, r->said, mark, 0);
        breq_send(r, line);
        look();
    }

    if (r->breq == NULL) {
        return;
    }

    mark_print(mark, person, n, 'r', r->said);
    snprintf(line, sizeof(line), "{\"content\":[{\"type\":\"text\","
             "\"text\":\"%s\"}]}\n", mark);
    breq_send(r, line);
    r->cut = 1;
    look();

    if (r->breq) {
        backend_end(&d, r->breq, MCP_FAILURE_NONE);
        look();
    }
}


static void
begin(void)
{
    unsigned         how, i;
    mcp_endpoint_t  *e;

    driver_init(&d);

    /* seeds the store's generator, for a repeatable run */

    ((mcp_store_head_t *) d.zone)->seed[0] = 1;
    ((mcp_store_head_t *) d.zone)->seed[1] = 2;

    how = next();
    e = &d.endpoint;
    e->session_lifetime = 600000;
    e->link = how & 1;
    e->stream_buffer = how & 2 ? 4096 : 16384;
    e->max_events = how & 4 ? 8 : 100;
    e->max_wait = how & 8 ? 2000 : 20000;
    e->stream_after = how & 16 ? 0 : 1000;
    e->close_after = how & 32 ? 3000 : 0;
    e->resume_after = how & 64 ? 2000 : 0;
    e->resume_lifetime = 60000;
    e->max_session_streams = how & 128 ? 3 : 0;
    d.te.env.log_level = MCP_LOG_ERROR;

    n_persons = n_records = n_streams = n_tokens = broadcasts = unsure = 0;
    step = 0;
    for (i = 0; i < CLIENTS; i++) {
        conns[i].used = 0;
    }

    how = next();
    world = &worlds[how / 36];
    e->quota_key = world->quota_key;
    e->quota_streams = world->streams;
    e->quota_listeners = world->listeners;
    e->quota_values = world->values;
    e->quota_bytes = world->bytes;

    if (world->stream_buffer) {
        e->stream_buffer = world->stream_buffer;
        e->linger = 300000;
    }

    open_session(0, how % 36);
    open_session(1, (how * 7 + 10) % 36);
    open_session(2, (how * 5 + 9) % 36);
    must(n_persons == 3);

    for (i = 0; i < world->before; i++) {
        call_before(i % 3);
    }
}


static void
check_empty(void)
{
    unsigned           i;
    mcp_store_stats_t  s;

    mcp_store_stats(&d.process[0].store, &s);
    must(s.streams == 0 && s.listeners == 0 && s.values == 0);
    must(s.subscriptions == 0);
    must(s.used == 0);
    must(s.counter[MCP_COUNT_CALLS_ACTIVE] == 0);
    must(s.counter[MCP_COUNT_CONSUMERS_ACTIVE] == 0);

    must(d.forgets == d.kept);

    for (i = 0; i < DRIVER_NODES; i++) {
        must(d.process[i].worker->calls == 0);
        must(d.process[i].worker->consumers == 0);
    }
}


/* Disconnects all clients, ends all calls, and lets everything that is kept
 * expire. */
static void
finish(void)
{
    unsigned           i;
    mcp_store_stats_t  s;

    d.te.tm.fail_at = 0;
    d.owner_died = 0;

    for (i = 0; i < DRIVER_NODES; i++) {
        d.process[i].dies_in = 0;
        driver_pause(&d, i, 0);
    }

    look();

    for (i = 0; i < CLIENTS; i++) {
        if (conns[i].used) {
            end_client(&conns[i]);
        }
    }

    for (i = 0; i < 200 && d.n_breqs; i++) {
        backend_end(&d, d.breqs[0], i & 1 ? MCP_FAILURE_REPLY
                                         : MCP_FAILURE_NONE);
    }

    must(d.n_breqs == 0);
    verify();

    /* several rounds, because each sweep checks only a part of the store */

    for (i = 0; i < 60; i++) {
        driver_wait(&d, 1);
        d.te.now += i < 3 ? 30000 : DAY / 24;
        driver_wait(&d, 1);
        mcp_store_stats(&d.process[0].store, &s);

        if (s.used == 0) {
            break;
        }
    }

    driver_wait(&d, 1);
    must(d.n_breqs == 0);
    verify();
    check_empty();
    driver_destroy(&d);
}


int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void) argc;
    (void) argv;

    tracing = getenv("CORE_FUZZ_TRACE") != NULL;

    /* makes failed assertions of core_driver.h abort the run */

    setenv("CMOCKA_TEST_ABORT", "1", 1);

    return 0;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = data;
    input_end = data + size;

    begin();

    for (step = 1; step <= STEPS && input < input_end; step++) {
        events[choose(sizeof(events) / sizeof(events[0]))]();
        look();

        if (step % 16 == 0 && d.te.tm.fail_at == 0) {
            verify();
        }
    }

    finish();

    return 0;
}
