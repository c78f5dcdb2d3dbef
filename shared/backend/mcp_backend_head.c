/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handles the head of a backend's response: classifies its media type, and
 * builds the messages for an HTTP error status.
 */


#include "backend/mcp_backend_internal.h"
#include "http/mcp_http_accept.h"


typedef enum {
    MCP_BACKEND_EXACT = 0,
    MCP_BACKEND_PREFIX,
    MCP_BACKEND_SUFFIX
} mcp_backend_part_e;


/* Media types and their classes. The first matching row decides. A type without
 * a row is MCP_BACKEND_BINARY. */
static const struct {
    mcp_backend_class_e  class;
    mcp_backend_part_e   part;
    mcp_str_t            text;

} mcp_backend_types[] = {
    { MCP_BACKEND_JSON, MCP_BACKEND_EXACT, { "application/json", 16 } },
    { MCP_BACKEND_SSE, MCP_BACKEND_EXACT, { "text/event-stream", 17 } },
    { MCP_BACKEND_LINES, MCP_BACKEND_EXACT, { "application/x-ndjson", 20 } },
    { MCP_BACKEND_LINES, MCP_BACKEND_EXACT, { "application/ndjson", 18 } },
    { MCP_BACKEND_LINES, MCP_BACKEND_EXACT, { "application/jsonl", 17 } },
    { MCP_BACKEND_JSON, MCP_BACKEND_SUFFIX, { "+json", 5 } },
    { MCP_BACKEND_TEXT, MCP_BACKEND_PREFIX, { "text/", 5 } },
    { MCP_BACKEND_IMAGE, MCP_BACKEND_PREFIX, { "image/", 6 } },
    { MCP_BACKEND_AUDIO, MCP_BACKEND_PREFIX, { "audio/", 6 } },
    { MCP_BACKEND_TEXTUAL, MCP_BACKEND_SUFFIX, { "+xml", 4 } },
    { MCP_BACKEND_TEXTUAL, MCP_BACKEND_EXACT, { "application/xml", 15 } },
    { MCP_BACKEND_TEXTUAL, MCP_BACKEND_EXACT, { "application/yaml", 16 } },
    { MCP_BACKEND_TEXTUAL, MCP_BACKEND_EXACT,
        { "application/javascript", 22 } },
};


/* The details of faults for HTTP errors, which must be static text: one for
 * each usual status. */
static const struct {
    int          status;
    const char  *detail;

} mcp_backend_statuses[] = {
    { 400, "HTTP 400" },
    { 401, "HTTP 401" },
    { 403, "HTTP 403" },
    { 404, "HTTP 404" },
    { 405, "HTTP 405" },
    { 408, "HTTP 408" },
    { 409, "HTTP 409" },
    { 410, "HTTP 410" },
    { 411, "HTTP 411" },
    { 413, "HTTP 413" },
    { 415, "HTTP 415" },
    { 422, "HTTP 422" },
    { 429, "HTTP 429" },
    { 500, "HTTP 500" },
    { 501, "HTTP 501" },
    { 502, "HTTP 502" },
    { 503, "HTTP 503" },
    { 504, "HTTP 504" },
};


/* Maximum value of Retry-After. A longer time does not come from a rate
 * limiter, and is ignored. */
#define MCP_BACKEND_RETRY_MAX  86400   /* seconds */


static mcp_backend_class_e mcp_backend_classify(mcp_str_t type);
static int mcp_backend_is_latin1(mcp_str_t params);
static mcp_str_t mcp_backend_next_param(mcp_str_t *params, mcp_str_t *value);
static int mcp_backend_tool_status(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg);
static mcp_str_t mcp_backend_cut(const mcp_backend_t *b, mcp_str_t text);
static const char *mcp_backend_status_detail(int status);


void
mcp_backend_media_type(mcp_backend_t *b, mcp_str_t content_type)
{
    char         c;
    size_t       i;
    mcp_str_t    type, params;
    const char  *p;

    type = mcp_str("application/json");

    if (mcp_str_eq(content_type, type)) {

        /* most backends send exactly "application/json": no parsing is
         * needed */

        memcpy(b->type, type.data, type.len);
        b->type_len = (unsigned) type.len;
        b->class = MCP_BACKEND_JSON;
        return;
    }

    type = mcp_http_media_type(content_type);

    if (type.len == 0) {
        return;
    }

    if (type.len > MCP_BACKEND_TYPE_MAX) {
        type = mcp_str("application/octet-stream");
    }

    for (i = 0; i < type.len; i++) {
        c = type.data[i];
        b->type[i] = (char) (c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }

    b->type_len = (unsigned) type.len;
    b->class = mcp_backend_classify((mcp_str_t) { b->type, type.len });

    p = memchr(content_type.data, ';', content_type.len);

    if (p) {
        params.data = p;
        params.len = content_type.len - (size_t) (p - content_type.data);

        b->latin1 = (mcp_backend_is_latin1(params) != 0);
    }
}


static mcp_backend_class_e
mcp_backend_classify(mcp_str_t type)
{
    size_t      i;
    mcp_str_t   part, text;

    for (i = 0;
         i < sizeof(mcp_backend_types) / sizeof(mcp_backend_types[0]);
         i++)
    {
        text = mcp_backend_types[i].text;

        if (type.len < text.len) {
            continue;
        }

        part = type;

        if (mcp_backend_types[i].part == MCP_BACKEND_PREFIX) {
            part.len = text.len;

        } else if (mcp_backend_types[i].part == MCP_BACKEND_SUFFIX) {
            part.data += type.len - text.len;
            part.len = text.len;
        }

        if (mcp_str_eq(part, text)) {
            return mcp_backend_types[i].class;
        }
    }

    return MCP_BACKEND_BINARY;
}


/* Returns 1 if the parameter charset in params, which is "; name=value; ...",
 * is ISO 8859-1. */

static int
mcp_backend_is_latin1(mcp_str_t params)
{
    mcp_str_t  name, value;

    while (params.len) {
        name = mcp_backend_next_param(&params, &value);

        if (mcp_str_case_eq(name, mcp_str("charset"))) {
            return mcp_str_case_eq(value, mcp_str("iso-8859-1"))
                   || mcp_str_case_eq(value, mcp_str("iso8859-1"))
                   || mcp_str_case_eq(value, mcp_str("iso_8859-1"))
                   || mcp_str_case_eq(value, mcp_str("latin1"))
                   || mcp_str_case_eq(value, mcp_str("l1"));
        }
    }

    return 0;
}


/*
 * Removes one parameter from the front of params, which begins with a
 * semicolon. Sets *value to the parameter's value, and returns its name. Both
 * are empty if the parameter has no "=".
 */

static mcp_str_t
mcp_backend_next_param(mcp_str_t *params, mcp_str_t *value)
{
    mcp_str_t    name, param;
    const char  *p;

    *value = mcp_null_str;

    param.data = params->data + 1;
    param.len = params->len - 1;

    p = memchr(param.data, ';', param.len);

    if (p) {
        param.len = (size_t) (p - param.data);
    }

    params->data = param.data + param.len;
    params->len -= 1 + param.len;

    p = param.len ? memchr(param.data, '=', param.len) : NULL;
    if (p == NULL) {
        return mcp_null_str;
    }

    name.data = param.data;
    name.len = (size_t) (p - param.data);

    value->data = p + 1;
    value->len = param.len - name.len - 1;
    *value = mcp_backend_trim(*value);

    if (value->len >= 2 && value->data[0] == '"'
        && value->data[value->len - 1] == '"')
    {
        value->data++;
        value->len -= 2;
    }

    return mcp_backend_trim(name);
}


void
mcp_backend_server_error(const mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg)
{
    /* SDKs respond in this way to a Host or Origin that their protection
     * against DNS rebinding does not allow */

    if (b->status == 403 && (mcp_str_find(text, mcp_str("Host"))
                             || mcp_str_find(text, mcp_str("Origin"))))
    {
        mcp_backend_fault(msg, MCP_FAULT_UPSTREAM_HOST,
                          "the MCP server refused the header Host or Origin");

    } else if (b->status == 401 || b->status == 403) {
        mcp_backend_fault(msg, MCP_FAULT_UPSTREAM_AUTH,
                          "the MCP server refused the credentials of this "
                          "server");

    } else {
        mcp_backend_fault(msg, MCP_FAULT_UPSTREAM_STATUS,
                          mcp_backend_status_detail(b->status));
        msg->no_session = b->status == 404;
    }
}


int
mcp_backend_http_error(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg)
{
    mcp_fault_e  fault;

    if (b->want == MCP_WANT_TOOL) {
        return mcp_backend_tool_status(b, text, msg);
    }

    fault = MCP_FAULT_BACKEND_FAILED;

    if (b->status == 404 && b->want == MCP_WANT_RESOURCE) {
        fault = MCP_FAULT_RESOURCE_UNKNOWN;

    } else if (b->status == 404 && b->want == MCP_WANT_PROMPT) {
        fault = MCP_FAULT_PROMPT_UNKNOWN;
    }

    mcp_backend_fault(msg, fault, mcp_backend_status_detail(b->status));

    return MCP_OK;
}


static int
mcp_backend_is_page(const mcp_backend_t *b)
{
    return mcp_str_eq((mcp_str_t) { b->type, b->type_len },
                      mcp_str("text/html"));
}


void
mcp_backend_retry_after(mcp_backend_t *b, mcp_str_t value)
{
    uint64_t  n;

    if (mcp_str_uint(mcp_backend_trim(value), &n) == MCP_OK
        && n <= MCP_BACKEND_RETRY_MAX)
    {
        b->retry_after = n;
    }
}


/*
 * Returns 1 if the status is 429 or 503, and the response has a valid
 * Retry-After or is an HTML page. Such a page is a rate limiter's own page,
 * whose text is useless for models.
 */
static int
mcp_backend_is_limit(const mcp_backend_t *b)
{
    return (b->status == 429 || b->status == 503)
           && (b->retry_after || mcp_backend_is_page(b));
}


static int
mcp_backend_limit(mcp_backend_t *b, mcp_str_t text, mcp_backend_msg_t *msg)
{
    int        rc;
    mcp_buf_t  buf;

    mcp_buf_init(&buf, b->mem, SIZE_MAX / 2);

    if (text.len && !mcp_backend_is_page(b)) {
        mcp_buf_str(&buf, mcp_backend_cut(b, text));
        mcp_buf_lit(&buf, "\n");
    }

    mcp_buf_str(&buf, b->status == 429
                      ? mcp_str("Too many calls")
                      : mcp_str("The backend is not available"));

    if (b->retry_after) {
        mcp_buf_lit(&buf, ": try again in ");
        mcp_buf_int(&buf, (int64_t) b->retry_after);
        mcp_buf_str(&buf, b->retry_after == 1 ? mcp_str(" second.")
                                              : mcp_str(" seconds."));

    } else {
        mcp_buf_lit(&buf, ": try again later.");
    }

    rc = buf.failed == MCP_OK
         ? mcp_backend_wrap(b, MCP_BACKEND_TEXT,
                            (mcp_str_t) { buf.data, buf.len }, msg)
         : MCP_ERR_MEMORY;

    mcp_buf_free(&buf);

    return rc;
}


/* Sets msg to a tool error for an HTTP error status, with the text of the
 * response, or with the status if there is no text. */

static int
mcp_backend_tool_status(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg)
{
    char  line[sizeof("HTTP ") + 20], *end;

    if (mcp_backend_is_limit(b)) {
        return mcp_backend_limit(b, text, msg);
    }

    if (text.len == 0) {
        memcpy(line, "HTTP ", 5);
        end = mcp_uint_print(line + 5, (uint64_t) b->status);

        text.data = line;
        text.len = (size_t) (end - line);
    }

    return mcp_backend_wrap(b, MCP_BACKEND_TEXT, mcp_backend_cut(b, text),
                            msg);
}


/*
 * Returns the beginning of an error page, at most MCP_BACKEND_ERROR_TEXT
 * bytes, without an incomplete character at its end.
 */

static mcp_str_t
mcp_backend_cut(const mcp_backend_t *b, mcp_str_t text)
{
    size_t  n;

    if (text.len <= MCP_BACKEND_ERROR_TEXT && !b->truncated) {
        return text;
    }

    if (text.len > MCP_BACKEND_ERROR_TEXT) {
        text.len = MCP_BACKEND_ERROR_TEXT;
    }

    if (b->latin1) {
        return text;
    }

    for (n = 1; n <= 3 && n <= text.len; n++) {

        switch (text.data[text.len - n] & 0xc0) {

        case 0x80:
            continue;

        case 0xc0:
            if (mcp_utf8_len(text.data[text.len - n]) > n) {
                text.len -= n;
            }

            return text;

        default:
            return text;
        }
    }

    return text;
}


int
mcp_backend_http_error_result(mcp_backend_t *b, const mcp_json_value_t *r,
    mcp_backend_msg_t *msg)
{
    mcp_buf_t  buf;
    mcp_str_t  rest;

    if (b->want != MCP_WANT_TOOL
        || r[MCP_BACKEND_R_CONTENT].type != MCP_JSON_ARRAY)
    {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_FAILED,
                          mcp_backend_status_detail(b->status));
        return MCP_OK;
    }

    if (r[MCP_BACKEND_R_IS_ERROR].type != MCP_JSON_NONE) {
        msg->kind = MCP_BACKEND_RESULT;
        return MCP_OK;
    }

    msg->is_error = 1;
    mcp_backend_result_init(b, &buf);

    rest.data = msg->body.data + 1;
    rest.len = msg->body.len - 1;

    mcp_buf_lit(&buf, "{\"isError\":true,");
    mcp_json_add_line(&buf, rest);

    return mcp_backend_result_give(b, &buf, msg);
}


static const char *
mcp_backend_status_detail(int status)
{
    size_t  i;

    for (i = 0;
         i < sizeof(mcp_backend_statuses) / sizeof(mcp_backend_statuses[0]);
         i++)
    {
        if (mcp_backend_statuses[i].status == status) {
            return mcp_backend_statuses[i].detail;
        }
    }

    return "HTTP error";
}
