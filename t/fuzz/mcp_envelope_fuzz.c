/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests of revision 2026-07-28, which declare their client in _meta.  The
 * input is header lines "Name: value" up to an empty line, then the body.
 *
 * Every POST gets a response.  The headers of an executed request agree with
 * its body, and no error has a code that the revision forbids.
 */


#define DRIVER_NODES  1
#define DRIVER_ZONE   (256 * 1024)

#include "core_driver.h"

#include "http/mcp_mirrored_header.h"


#define HEADERS  8
#define MODERN   "2026-07-28"


#define must(condition)                                                      \
    if (!(condition)) {                                                      \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
        abort();                                                             \
    }


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);


static driver_t  d;
static client_t  c;
static char      input[16384];


/* Takes the header lines from the input; the rest is the body. */
static char *
take_headers(char *p)
{
    char    *end, *colon;
    size_t   n;

    for (n = 0; *p != '\0' && *p != '\n'; p = end) {
        end = p + strcspn(p, "\n");

        if (*end != '\0') {
            *end++ = '\0';
        }

        colon = strchr(p, ':');

        if (colon && n < HEADERS) {
            *colon = '\0';
            client_header(&c, p, colon + 1 + (colon[1] == ' '));
            n++;
        }
    }

    return *p == '\n' ? p + 1 : p;
}


/* Returns 1 if the request has exactly one header with this name, and it has
 * this value. */
static int
header_is(const char *name, mcp_str_t value)
{
    int          found;
    size_t       i;
    mcp_str_t    decoded;
    mcp_arena_t  arena;

    found = 0;
    mcp_arena_init(&arena, &d.te.env.mem);

    for (i = 0; i < c.n_headers; i++) {
        if (!mcp_str_case_eq(c.headers[i].name, test_str(name))) {
            continue;
        }

        must(found == 0);
        must(mcp_header_value_decode(&arena, c.headers[i].value, &decoded)
             == MCP_OK);
        must(mcp_str_eq(decoded, value));
        found = 1;
    }

    mcp_arena_destroy(&arena);

    return found;
}


/* Checks that the body of an executed call agrees with its headers. */
static void
check_call(const mcp_call_t *call)
{
    const mcp_request_t  *req;

    if (!mcp_client_is_stateless(&call->client)) {
        return;
    }

    req = &call->requests[0];
    must(call->n == 1);
    must(header_is("MCP-Protocol-Version", mcp_str(MODERN)));
    must(header_is("Mcp-Method", req->method->name));

    if (req->method->subject != MCP_SUBJECT_NONE) {
        must(req->name.len > 0);
        must(header_is("Mcp-Name", req->name));
    }
}


/* Checks that an error has no code of earlier revisions (schema 2026-07-28,
 * "Error codes"). */
static void
check_code(const char *text)
{
    int          code;
    const char  *p;

    p = strstr(text, "\"error\":{\"code\":");

    if (p) {
        code = atoi(p + sizeof("\"error\":{\"code\":") - 1);
        must(!(code <= -32000 && code >= -32019) && code != -32042);
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t  i;
    char   *body;

    if (size >= sizeof(input)) {
        return 0;
    }

    memcpy(input, data, size);
    input[size] = '\0';

    driver_init(&d);
    client_init(&c, NULL);
    body = take_headers(input);
    client_send(&d, 0, &c, "POST", body);

    must(c.next == MCP_NEXT_RESPOND || c.next == MCP_NEXT_STREAM
         || c.next == MCP_NEXT_WAIT);
    must(c.status != 0 || d.n_breqs > 0);

    for (i = 0; i < d.n_breqs; i++) {
        check_call(d.breqs[i]->call);
    }

    if (mcp_client_is_stateless(&c.x->client)) {
        check_code(c.text);
    }

    while (d.n_breqs) {
        backend_json(&d, "{\"content\":[]}");
    }

    must(c.status >= 200 && c.status < 600 && c.status != 500);
    client_close(&d, &c);

    driver_wait(&d, 100000);
    driver_destroy(&d);

    return 0;
}
