/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_trace.h"


#define MCP_TRACE_STATE_MEMBERS    32
#define MCP_TRACE_BAGGAGE_MEMBERS  180

/* length of a traceparent: version, trace-id, parent-id and trace-flags, with
 * three hyphens */
#define MCP_TRACE_PARENT_LEN       55


/*
 * Returns 1 if the text consists of lower-case hexadecimal digits. If zero is
 * 0, at least one digit must differ from 0.
 */
static int
mcp_trace_hex(const char *p, size_t n, int zero)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        if (!(p[i] >= '0' && p[i] <= '9') && !(p[i] >= 'a' && p[i] <= 'f')) {
            return 0;
        }

        zero |= p[i] != '0';
    }

    return zero;
}


/*
 * Returns 1 for a valid traceparent. Versions after 00 may have more fields
 * after another hyphen (Trace Context, 3.2.4).
 */
static int
mcp_trace_is_parent(mcp_str_t s)
{
    int  first;

    if (s.len < MCP_TRACE_PARENT_LEN || s.len > MCP_TRACE_PARENT_MAX
        || s.data[2] != '-' || s.data[35] != '-' || s.data[52] != '-'
        || !mcp_trace_hex(s.data, 2, 1)
        || !mcp_trace_hex(s.data + 3, 32, 0)
        || !mcp_trace_hex(s.data + 36, 16, 0)
        || !mcp_trace_hex(s.data + 53, 2, 1))
    {
        return 0;
    }

    first = memcmp(s.data, "00", 2) == 0;

    return memcmp(s.data, "ff", 2) != 0
           && (s.len == MCP_TRACE_PARENT_LEN
               || (!first && s.data[MCP_TRACE_PARENT_LEN] == '-'));
}


static int
mcp_trace_is_blank(char c)
{
    return c == ' ' || c == '\t';
}


/* Removes the next member of the list s, up to a comma, and returns it without
 * the spaces around it. */
static mcp_str_t
mcp_trace_member(mcp_str_t *s)
{
    const char  *p, *end, *comma;

    p = s->data;
    end = s->data + s->len;
    comma = memchr(p, ',', s->len);

    if (comma) {
        s->data = comma + 1;
        s->len = (size_t) (end - comma - 1);
        end = comma;

    } else {
        s->len = 0;
    }

    while (p < end && mcp_trace_is_blank(*p)) {
        p++;
    }

    while (p < end && mcp_trace_is_blank(end[-1])) {
        end--;
    }

    return (mcp_str_t) { p, (size_t) (end - p) };
}


/*
 * Returns 1 if s is a list of at most max members KEY=VALUE, separated by
 * commas. with_empty is 1 if members may be empty.
 */
static int
mcp_trace_is_list(mcp_str_t s, size_t max, int with_empty,
    int (*is_key)(unsigned char c), int (*is_value)(unsigned char c))
{
    size_t      i, n;
    mcp_str_t   member;

    for (n = 0; s.len; n++) {
        member = mcp_trace_member(&s);

        if (n == max) {
            return 0;
        }

        if (member.len == 0 && with_empty) {
            continue;
        }

        for (i = 0; i < member.len && member.data[i] != '='; i++) {
            if (!is_key((unsigned char) member.data[i])) {
                return 0;
            }
        }

        if (i == 0 || i == member.len) {
            return 0;
        }

        for (i++; i < member.len; i++) {
            if (!is_value((unsigned char) member.data[i])) {
                return 0;
            }
        }
    }

    return n != 0;
}


static int
mcp_trace_is_state_key(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')
           || (c && strchr("_-*/@", c));
}


static int
mcp_trace_is_state_value(unsigned char c)
{
    return c >= 0x20 && c <= 0x7e && c != ',' && c != '=';
}


/* Returns 1 if c may occur in a key: a token character (RFC 9110, 5.6.2), or a
 * space, which is allowed before the "=". */
static int
mcp_trace_is_baggage_key(unsigned char c)
{
    return mcp_is_alnum(c) || (c && strchr("!#$%&'*+-.^_`|~ \t", c));
}


/* Returns 1 for a character that a value and its properties may have, "=" and
 * spaces included. */
static int
mcp_trace_is_baggage_value(unsigned char c)
{
    return c == '\t' || (c >= 0x20 && c <= 0x7e && c != '"' && c != ','
                         && c != '\\');
}


void
mcp_trace_set(mcp_variables_t *variables, const mcp_trace_t *trace)
{
    mcp_str_t  state;

    if (trace->parent.len && mcp_trace_is_parent(trace->parent)) {

        /* a tracestate without its traceparent is meaningless */

        state = trace->state.len <= MCP_TRACE_STATE_MAX
                && mcp_trace_is_list(trace->state, MCP_TRACE_STATE_MEMBERS, 1,
                                     mcp_trace_is_state_key,
                                     mcp_trace_is_state_value)
                ? trace->state : mcp_null_str;

        mcp_variable_set(variables, MCP_VARIABLE_TRACEPARENT, trace->parent);
        mcp_variable_set(variables, MCP_VARIABLE_TRACESTATE, state);
    }

    if (trace->baggage.len && trace->baggage.len <= MCP_TRACE_BAGGAGE_MAX
        && mcp_trace_is_list(trace->baggage, MCP_TRACE_BAGGAGE_MEMBERS, 0,
                             mcp_trace_is_baggage_key,
                             mcp_trace_is_baggage_value))
    {
        mcp_variable_set(variables, MCP_VARIABLE_BAGGAGE, trace->baggage);
    }
}


/* Returns a member of _meta, empty if it is not a string or too long. */
static mcp_str_t
mcp_trace_text(mcp_arena_t *arena, const mcp_json_value_t *value)
{
    mcp_str_t  text;

    if (value->type != MCP_JSON_STRING
        || value->raw.len > 2 * MCP_TRACE_BAGGAGE_MAX
        || mcp_json_unescape(arena, value->raw, &text) != MCP_OK)
    {
        return mcp_null_str;
    }

    return text;
}


void
mcp_trace_of_meta(mcp_trace_t *trace, mcp_arena_t *arena, const mcp_rpc_t *msg)
{
    trace->parent = mcp_trace_text(arena, &msg->meta_traceparent);
    trace->state = mcp_trace_text(arena, &msg->meta_tracestate);
    trace->baggage = mcp_trace_text(arena, &msg->meta_baggage);
}
