/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A client's message as parsers of backends read it.  Backends parse the
 * message with other parsers than the server.  These differ in which of two
 * members with equal names counts, and in which names they consider equal. If
 * the server accepts a message, each of these parsers must find the values on
 * which the server's decision is based: those of the envelope, and the
 * arguments that headers mirror.
 *
 * The parsers are written here and share no code with the server.
 */


#include "fuzz_env.h"

#include "config/mcp_catalog.h"
#include "exchange/mcp_stateless.h"
#include "exchange/mcp_exchange_internal.h"
#include "rpc/mcp_rpc.h"


#define DEPTH    16


/* --- parsers --- */

typedef struct {
    const char  *name;
    int          last;         /* 1 if the last of two members counts, 0 for
                                  the first */
    int          fold;         /* 1 if ASCII letters in either case are equal;
                                  2 if also Unicode characters that fold to
                                  ASCII letters */
    int          c_string;     /* 1 if a name ends at U+0000 */
    int          null_is_not;  /* 1 if null does not replace an earlier
                                  value */
} habit_t;

static const habit_t  habits[] = {
    { "the first member", 0, 0, 0, 0 },
    { "the last member", 1, 0, 0, 0 },
    { "Go's encoding/json", 1, 2, 0, 1 },
    { "C strings, the first", 0, 0, 1, 0 },
    { "C strings, the last", 1, 0, 1, 0 },
    { "cJSON", 0, 1, 1, 0 },
    { "any case, the last, C strings", 1, 2, 1, 0 }
};

#define HABITS  (sizeof(habits) / sizeof(habits[0]))


typedef struct {
    const char  *start;
    const char  *end;
} slice_t;


static const char *
space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')) {
        p++;
    }

    return p;
}


static const char *
skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) {
        p += *p == '\\';
    }

    return p + 1;
}


static const char *
skip_value(const char *p, const char *end)
{
    int  depth;

    depth = 0;

    do {
        p = space(p, end);

        if (*p == '"') {
            p = skip_string(p, end);

        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;

        } else if (*p == '}' || *p == ']') {
            depth--;
            p++;

        } else if (*p == ',' || *p == ':') {
            p++;

        } else {
            while (p < end && !strchr(" \t\r\n,:]}", *p)) {
                p++;
            }
        }
    } while (depth > 0 && p < end);

    return p;
}


static uint32_t
hex(const char *p)
{
    char  digits[5] = { p[0], p[1], p[2], p[3], '\0' };

    return (uint32_t) strtoul(digits, NULL, 16);
}


/*
 * Sets *c to the next unit of a string: an escape or an ASCII character to its
 * UTF-16 code, the two non-ASCII characters that fold to ASCII to their code,
 * any other byte of UTF-8 to itself plus 0x10000.  Returns the position after
 * the unit.
 */
static const char *
character(const char *p, uint32_t *c)
{
    const char  *at;

    static const char  names[] = "bfnrt";
    static const char  chars[] = "\b\f\n\r\t";

    if (*p == '\\') {
        if (p[1] == 'u') {
            *c = hex(p + 2);
            return p + 6;
        }

        at = strchr(names, p[1]);
        *c = (unsigned char) (at ? chars[at - names] : p[1]);

        return p + 2;
    }

    if (memcmp(p, "\xc5\xbf", 2) == 0) {
        *c = 0x17f;
        return p + 2;
    }

    if (*p == '\xe2' && memcmp(p, "\xe2\x84\xaa", 3) == 0) {
        *c = 0x212a;
        return p + 3;
    }

    *c = (unsigned char) *p < 0x80 ? (uint32_t) *p
                                   : 0x10000 | (unsigned char) *p;

    return p + 1;
}


static uint32_t
folded(uint32_t c, int fold)
{
    if (fold && c >= 'A' && c <= 'Z') {
        return c - 'A' + 'a';
    }

    if (fold == 2 && c == 0x17f) {
        return 's';
    }

    return fold == 2 && c == 0x212a ? 'k' : c;
}


/* Returns 1 if the parser considers the name at p, which starts with its
 * quote, equal to "name". */
static int
is_name(const habit_t *h, const char *p, const char *name)
{
    uint32_t  c;

    for (p++; *p != '"'; name++) {
        p = character(p, &c);

        if (c == 0 && h->c_string) {
            break;
        }

        if (*name == '\0'
            || folded(c, h->fold) != folded((unsigned char) *name, h->fold))
        {
            return 0;
        }
    }

    return *name == '\0';
}


/* Sets *found to the value of the member "name" of an object, as the parser h
 * reads it. Returns 1 if there is one. */
static int
member(const habit_t *h, slice_t object, const char *name, slice_t *found)
{
    int          any;
    slice_t      value;
    const char  *p, *key;

    any = 0;
    p = object.start + 1;

    if (object.end - object.start < 2 || *object.start != '{') {
        return 0;
    }

    for ( ;; ) {
        p = space(p, object.end);

        if (*p == ',') {
            p = space(p + 1, object.end);
        }

        if (*p != '"') {
            return any;
        }

        key = p;
        p = space(skip_string(p, object.end), object.end);
        value.start = space(p + 1, object.end);
        value.end = p = skip_value(value.start, object.end);

        if (is_name(h, key, name)
            && !(h->null_is_not && *value.start == 'n')
            && (h->last || !any))
        {
            *found = value;
            any = 1;
        }
    }
}


/* Follows a path of member names that ends with NULL; a value null counts as
 * absent. Returns 1 and sets *found, or returns 0. */
static int
lookup(const habit_t *h, slice_t from, const char *const *path, slice_t *found)
{
    *found = from;

    for ( /* void */ ; *path; path++) {
        if (!member(h, *found, *path, found)) {
            return 0;
        }
    }

    return *found->start != 'n';
}


/* --- fields that the server reads --- */

#define OWN  "io.modelcontextprotocol/"

static const struct {
    size_t       at;           /* offset of the field in mcp_rpc_t */
    const char  *path[4];
} fields[] = {
#define field(member, ...)  { offsetof(mcp_rpc_t, member), { __VA_ARGS__ } }
    field(jsonrpc, "jsonrpc"),
    field(id_value, "id"),
    field(method_value, "method"),
    field(params, "params"),
    field(result, "result"),
    field(error, "error"),
    field(name, "params", "name"),
    field(arguments, "params", "arguments"),
    field(meta, "params", "_meta"),
    field(uri, "params", "uri"),
    field(cursor, "params", "cursor"),
    field(level, "params", "level"),
    field(request_id, "params", "requestId"),
    field(reason, "params", "reason"),
    field(protocol_version, "params", "protocolVersion"),
    field(capabilities, "params", "capabilities"),
    field(client_info, "params", "clientInfo"),
    field(ref, "params", "ref"),
    field(notify_token, "params", "progressToken"),
    field(resume_token, "params", "resumeToken"),
    field(key, "params", "idempotencyKey"),
    field(input_responses, "params", "inputResponses"),
    field(request_state, "params", "requestState"),
    field(notifications, "params", "notifications"),
    field(task_id, "params", "taskId"),
    field(ref_type, "params", "ref", "type"),
    field(ref_name, "params", "ref", "name"),
    field(ref_uri, "params", "ref", "uri"),
    field(progress_token, "params", "_meta", "progressToken"),
    field(meta_resume_token, "params", "_meta", "resumeToken"),
    field(meta_key, "params", "_meta", "idempotencyKey"),
    field(meta_version, "params", "_meta", OWN "protocolVersion"),
    field(meta_client_info, "params", "_meta", OWN "clientInfo"),
    field(meta_capabilities, "params", "_meta", OWN "clientCapabilities"),
    field(meta_log_level, "params", "_meta", OWN "logLevel"),
    field(meta_traceparent, "params", "_meta", "traceparent"),
    field(meta_tracestate, "params", "_meta", "tracestate"),
    field(meta_baggage, "params", "_meta", "baggage")
#undef field
};

#define FIELDS  (sizeof(fields) / sizeof(fields[0]))

_Static_assert(FIELDS == MCP_RPC_FIELDS, "a field of the envelope is missing");


static void
disagree(const habit_t *h, const char *const *path)
{
    fprintf(stderr, "%s reads another", h->name);

    for ( /* void */ ; *path; path++) {
        fprintf(stderr, " %s", *path);
    }

    fprintf(stderr, "\n");
    abort();
}


static void
check_fields(const mcp_rpc_t *msg, slice_t text)
{
    int                      any;
    size_t                   i, k;
    slice_t                  found;
    const mcp_json_value_t  *value;

    for (i = 0; i < FIELDS; i++) {
        value = (const void *) ((const char *) msg + fields[i].at);

        for (k = 0; k < HABITS; k++) {
            any = lookup(&habits[k], text, fields[i].path, &found);

            if (any != (value->type != MCP_JSON_NONE)
                || (any && (found.start != value->raw.data
                            || found.end != value->raw.data + value->raw.len)))
            {
                disagree(&habits[k], fields[i].path);
            }
        }
    }
}


/* --- arguments that headers mirror --- */

static const char  catalog_text[] =
    "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\","
    "\"properties\":{\"task\":{\"type\":\"string\",\"x-mcp-header\":\"Task\"},"
    "\"limit\":{\"type\":\"integer\",\"x-mcp-header\":\"Limit\"},"
    "\"o\":{\"type\":\"object\",\"properties\":{\"deep\":{\"type\":"
    "\"boolean\",\"x-mcp-header\":\"Deep\"}}}}}}]}";

static const struct {
    const char  *header;
    const char  *path[3];
} mirrored[] = {
    { "Task", { "task" } },
    { "Limit", { "limit" } },
    { "Deep", { "o", "deep" } }
};

#define MIRRORED  (sizeof(mirrored) / sizeof(mirrored[0]))


/* Makes the header that mirrors an argument, with the value that the first of
 * the parsers reads. */
static int
header(size_t i, slice_t arguments, mcp_header_t *out)
{
    slice_t  value;

    if (!lookup(&habits[0], arguments, mirrored[i].path, &value)) {
        return 0;
    }

    out->name = (mcp_str_t) { mirrored[i].header,
                              strlen(mirrored[i].header) };
    out->value = (mcp_str_t) { value.start,
                               (size_t) (value.end - value.start) };

    if (*value.start == '"') {
        out->value.data++;
        out->value.len -= 2;
    }

    return 1;
}


static void
check_arguments(const mcp_rpc_t *msg, const mcp_catalog_t *catalog)
{
    int                    any;
    size_t                 i, k, n;
    slice_t                arguments, one, other;
    mcp_str_t              detail;
    mcp_header_t           headers[MIRRORED];
    mcp_endpoint_t         endpoint;
    mcp_exchange_t        *x;

    arguments.start = msg->arguments.raw.data;
    arguments.end = arguments.start + msg->arguments.raw.len;

    memset(&endpoint, 0, sizeof(endpoint));
    endpoint.catalog = catalog;
    x = calloc(1, sizeof(mcp_exchange_t));
    must(x != NULL);
    mcp_arena_init(&x->arena, &fuzz_mem);
    x->endpoint = &endpoint;

    for (i = 0, n = 0; i < MIRRORED; i++) {
        n += (size_t) header(i, arguments, &headers[n]);
    }

    x->head.params = headers;
    x->head.n_params = n;

    if (mcp_exchange_param_check(x, mcp_str("t"), &msg->arguments, &detail)
        == MCP_OK)
    {
        for (i = 0; i < MIRRORED; i++) {
            any = lookup(&habits[0], arguments, mirrored[i].path, &one);

            for (k = 1; k < HABITS; k++) {
                if (any != lookup(&habits[k], arguments, mirrored[i].path,
                                  &other)
                    || (any && one.start != other.start))
                {
                    disagree(&habits[k], mirrored[i].path);
                }
            }
        }
    }

    mcp_arena_destroy(&x->arena);
    free(x);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    slice_t      whole;
    mcp_rpc_t    msg;
    mcp_arena_t  arena;

    static mcp_catalog_t  *catalog;
    static long            kept;

    char                   error[256];

    if (catalog == NULL) {
        must(mcp_catalog_create(&fuzz_mem, mcp_str(catalog_text), &catalog,
                                error, sizeof(error))
             == MCP_OK);
        kept = live;
    }

    mcp_arena_init(&arena, &fuzz_mem);

    must(mcp_rpc_parse(&arena, (mcp_str_t) { (const char *) data, size },
                       DEPTH, MCP_RPC_FROM_CLIENT, &msg)
         == MCP_OK);

    if (msg.kind != MCP_RPC_INVALID) {
        whole.start = msg.raw.data;
        whole.end = msg.raw.data + msg.raw.len;
        check_fields(&msg, whole);

        if (msg.arguments.type == MCP_JSON_OBJECT) {
            check_arguments(&msg, catalog);
        }
    }

    mcp_arena_destroy(&arena);
    must(live == kept);

    return 0;
}
