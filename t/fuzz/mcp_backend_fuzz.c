/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The decoder of backends' replies, with all content types and statuses.  The
 * first bytes of the input choose
 *
 *     required kind of result (mcp_want_e), Content-Type, status,
 *     end, size limit and kind of server, splits
 *
 * and the rest is the body of the reply.  Each split of the body must result
 * in the same messages, each one line and one JSON object, with one final
 * message.  A failed allocation must be reported and leave no memory behind.
 */


#include "fuzz_env.h"

#include "backend/mcp_backend.h"


#define HEAD        5
#define MAX_DEPTH   16
#define SMALL_MAX   64


typedef struct {
    mcp_want_e          want;
    int                 is_server;     /* 1: see mcp_backend_set_server() */
    int                 questions;     /* 1: see
                                          mcp_backend_allow_questions() */
    int                 resumes;       /* 1: see mcp_backend_set_resumes() */
    mcp_str_t           type;
    int                 status;
    mcp_fault_e         fault;
    size_t              max;
    const char         *body;
    size_t              len;
} answer_t;


typedef struct {
    char    *text;
    size_t   len;
    size_t   cap;
} transcript_t;


typedef struct {
    mcp_mem_t      mem;
    long           live;
    unsigned long  fail_at;
    unsigned long  failed;
} memory_t;


static const mcp_str_t  types[] = {
    { NULL, 0 },
    { "application/json", 16 },
    { "text/event-stream", 17 },
    { "application/x-ndjson", 20 },
    { "text/plain", 10 },
    { "text/plain; charset=iso-8859-1", 30 },
    { "image/png", 9 },
    { "application/pdf", 15 },
    { "application/xml", 15 },
    { "audio/", 6 },
};


static const int  statuses[] = { 200, 500, 404, 204, 202, 301, 400, 100 };


static void *
memory_alloc(void *ctx, size_t size)
{
    memory_t  *memory = ctx;

    if (memory->fail_at > 0 && --memory->fail_at == 0) {
        memory->failed++;
        return NULL;
    }

    memory->live++;

    return malloc(size ? size : 1);
}


static void
memory_free(void *ctx, void *p)
{
    memory_t  *memory = ctx;

    if (p) {
        memory->live--;
        free(p);
    }
}


static void
memory_init(memory_t *memory, unsigned long fail_at)
{
    memset(memory, 0, sizeof(memory_t));

    memory->mem.alloc = memory_alloc;
    memory->mem.free = memory_free;
    memory->mem.ctx = memory;
    memory->fail_at = fail_at;
}


static void
note(transcript_t *t, const void *data, size_t len)
{
    if (len > t->cap - t->len) {
        t->cap = 2 * (t->len + len) + 1024;
        t->text = realloc(t->text, t->cap);
        must(t->text != NULL);
    }

    if (len) {
        memcpy(t->text + t->len, data, len);
        t->len += len;
    }
}


static void
note_str(transcript_t *t, mcp_str_t s)
{
    note(t, &s.len, sizeof(s.len));
    note(t, s.data, s.len);
}


static void
check_body(const answer_t *a, mcp_str_t body)
{
    size_t            i;
    memory_t          memory;
    mcp_arena_t       arena;
    mcp_json_value_t  root;

    must(body.len <= 2 * a->max + 2048);

    for (i = 0; i < body.len; i++) {
        must(body.data[i] != '\r' && body.data[i] != '\n');
    }

    memory_init(&memory, 0);
    mcp_arena_init(&arena, &memory.mem);

    must(mcp_json_scan(&arena, body, MAX_DEPTH, NULL, 0, &root, NULL, NULL)
         == MCP_OK);
    must(root.type == MCP_JSON_OBJECT);

    mcp_arena_destroy(&arena);
}


static void
note_message(const answer_t *a, transcript_t *t, const mcp_backend_msg_t *msg)
{
    must(!msg->resumable || (a->resumes && msg->kind == MCP_BACKEND_FAULT));

    note(t, &msg->kind, sizeof(msg->kind));
    note(t, (const char[]) { (char) msg->resumable }, 1);
    note_str(t, msg->method);
    note_str(t, msg->body);
    note_str(t, msg->progress_token.raw);
    note_str(t, msg->level.raw);
    note_str(t, msg->uri.raw);
    note_str(t, msg->input_requests.raw);
    note_str(t, msg->request_state.raw);

    switch (msg->kind) {

    case MCP_BACKEND_FAULT:
        must(msg->fault > MCP_FAULT_NONE && msg->fault < MCP_FAULT_COUNT);
        must(msg->detail != NULL);
        must(msg->body.data == NULL);
        note(t, msg->detail, strlen(msg->detail));
        break;

    case MCP_BACKEND_DETACHED:
        must(msg->body.data == NULL);
        break;

    case MCP_BACKEND_REQUEST:
        must(a->questions && msg->id.raw.len > 0);
        must(msg->method.len > 0);
        check_body(a, msg->body);
        break;

    case MCP_BACKEND_NOTIFICATION:
        if (msg->ignored) {
            must(a->is_server && (!a->questions || a->resumes));
            break;
        }

        must(msg->method.len > 0);
        check_body(a, msg->body);
        break;

    default:
        check_body(a, msg->body);
    }
}


static int
drain(const answer_t *a, mcp_backend_t *b, transcript_t *t, int *final)
{
    int                rc;
    mcp_backend_msg_t  msg;

    while ((rc = mcp_backend_read(b, &msg)) == MCP_OK) {
        must(!*final);
        *final = msg.kind != MCP_BACKEND_NOTIFICATION
                 && msg.kind != MCP_BACKEND_REQUEST;
        note_message(a, t, &msg);
    }

    must(rc == MCP_AGAIN || rc == MCP_DONE || rc == MCP_ERR_MEMORY);
    must(rc != MCP_DONE || *final);
    must(rc != MCP_AGAIN || !*final);

    return rc;
}


/* Decodes the body: at once if "step" is 0; otherwise in pieces of at most
 * "step" bytes, whose lengths "seed" varies. */

static int
play(const answer_t *a, memory_t *memory, size_t step, unsigned seed,
    int read, transcript_t *t)
{
    int             rc, final;
    char           *copy;
    size_t          n, pos;
    mcp_backend_t  *b;

    t->len = 0;
    final = 0;

    b = mcp_backend_create(&memory->mem, a->want, mcp_str("file:///x"),
                           a->max, MAX_DEPTH);
    if (b == NULL) {
        return MCP_ERR_MEMORY;
    }

    if (a->is_server) {
        mcp_backend_set_server(b);
    }

    if (a->questions) {
        mcp_backend_allow_questions(b);
    }

    if (a->resumes) {
        mcp_backend_set_id(b, mcp_str("1"));
    }

    if (a->resumes && mcp_backend_set_resumes(b, mcp_str("e")) != MCP_OK)
    {
        mcp_backend_free(b);
        return MCP_ERR_MEMORY;
    }

    mcp_backend_head(b, a->status, a->type);

    for (pos = 0, rc = MCP_OK; pos < a->len; pos += n) {
        n = a->len - pos;

        if (step && step < n) {
            seed = seed * 1103515245u + 12345u;
            n = 1 + (seed >> 16) % step;
        }

        copy = malloc(n);
        must(copy != NULL);
        memcpy(copy, a->body + pos, n);
        rc = mcp_backend_write(b, copy, n);
        free(copy);

        must(rc == MCP_OK || rc == MCP_ERR_LIMIT || rc == MCP_ERR_MEMORY);

        if (rc != MCP_ERR_MEMORY && read) {
            rc = drain(a, b, t, &final);
        }

        if (rc == MCP_ERR_MEMORY) {
            break;
        }
    }

    if (rc != MCP_ERR_MEMORY) {
        rc = mcp_backend_end(b, a->fault, "broke off");
        must(rc == MCP_OK);

        rc = drain(a, b, t, &final);
        must(rc == MCP_DONE || rc == MCP_ERR_MEMORY);
        must(rc != MCP_DONE || final);
    }

    mcp_backend_free(b);

    return rc;
}


static void
same(const transcript_t *a, const transcript_t *b)
{
    must(a->len == b->len);
    must(a->len == 0 || memcmp(a->text, b->text, a->len) == 0);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    answer_t       a;
    memory_t       memory;
    unsigned       seed;
    transcript_t   whole, other;

    if (size < HEAD) {
        return 0;
    }

    a.want = (mcp_want_e) (data[0] % 4);
    a.type = types[data[1] % (sizeof(types) / sizeof(types[0]))];
    a.status = statuses[data[2] % (sizeof(statuses) / sizeof(statuses[0]))];
    a.fault = data[3] & 1 ? MCP_FAULT_BACKEND_TIMEOUT : MCP_FAULT_NONE;
    a.is_server = (data[3] & 12) != 0;
    a.questions = (data[3] & 12) == 12;
    a.resumes = a.is_server && (data[3] & 16);
    a.max = data[3] & 2 ? SMALL_MAX : 1024 * 1024;
    a.body = (const char *) data + HEAD;
    a.len = size - HEAD;
    seed = data[4];

    memset(&whole, 0, sizeof(transcript_t));
    memset(&other, 0, sizeof(transcript_t));
    memory_init(&memory, 0);

    must(play(&a, &memory, 0, 0, 1, &whole) == MCP_DONE);

    must(play(&a, &memory, 1, 0, 1, &other) == MCP_DONE);
    same(&whole, &other);

    must(play(&a, &memory, 5 + seed % 32, seed, 1, &other) == MCP_DONE);
    same(&whole, &other);

    must(play(&a, &memory, 1 + seed % 64, seed, 0, &other) == MCP_DONE);
    same(&whole, &other);

    must(memory.live == 0);

    memory_init(&memory, 1 + seed % 16);

    if (play(&a, &memory, 0, 0, 1, &other) == MCP_DONE) {
        must(memory.failed == 0);
        same(&whole, &other);

    } else {
        must(memory.failed == 1);
    }

    must(memory.live == 0);

    free(whole.text);
    free(other.text);

    return 0;
}
