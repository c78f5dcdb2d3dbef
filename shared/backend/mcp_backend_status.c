/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What an HTTP error status makes of an answer: an error of the tool, which a
 * model is shown, or a fault.
 */


#include "backend/mcp_backend_parts.h"


/* Details are static text: one for each status that is seen in practice. */
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


static const char *mcp_backend_status_detail(int status);


int
mcp_backend_status(mcp_backend_t *b, mcp_str_t text, mcp_backend_msg_t *msg)
{
    char        line[sizeof("HTTP ") + 20];
    mcp_fault_e  fault;

    memset(msg, 0, sizeof(mcp_backend_msg_t));

    if (b->want == MCP_WANT_TOOL) {

        if (text.len == 0) {
            memcpy(line, "HTTP ", 5);
            text.data = line;
            text.len = (size_t) (mcp_uint_print(line + 5,
                                                (uint64_t) b->status)
                                 - line);
        }

        return mcp_backend_wrap(b, MCP_BACKEND_TEXT, mcp_backend_cut(b, text),
                                msg);
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


int
mcp_backend_error_result(mcp_backend_t *b, const mcp_json_value_t *r,
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
    mcp_buf_init(&buf, b->mem, mcp_backend_wrapped_max(b));

    rest.data = msg->body.data + 1;
    rest.len = msg->body.len - 1;

    mcp_buf_lit(&buf, "{\"isError\":true,");
    mcp_json_add_line(&buf, rest);

    return mcp_backend_give(b, &buf, msg);
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
