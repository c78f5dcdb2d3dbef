/* SPDX-License-Identifier: Apache-2.0 */

#include "mcp_variable.h"

#include "base/mcp_word.h"


const mcp_str_t  mcp_variable_names[MCP_VARIABLE_COUNT] = {
    mcp_str("mcp_method"),
    mcp_str("mcp_name"),
    mcp_str("mcp_request_id"),
    mcp_str("mcp_session"),
    mcp_str("mcp_session_id"),
    mcp_str("mcp_principal"),
    mcp_str("mcp_protocol_version"),
    mcp_str("mcp_client_capabilities"),
    mcp_str("mcp_progress_token"),
    mcp_str("mcp_call"),
    mcp_str("mcp_publish_url"),
    mcp_str("mcp_traceparent"),
    mcp_str("mcp_tracestate"),
    mcp_str("mcp_baggage"),
    mcp_str("mcp_outcome"),
    mcp_str("mcp_result"),
    mcp_str("mcp_resumed"),
    mcp_str("mcp_events"),
    mcp_str("mcp_resume_method"),
    mcp_str("mcp_joined"),
    mcp_str("mcp_upstream_version"),
    mcp_str("mcp_upstream_mcp_name"),
    mcp_str("mcp_upstream_session"),
    mcp_str("mcp_upstream_last_event_id"),
    mcp_str("mcp_upstream_affinity"),
    mcp_str("mcp_upstream_state")
};


const mcp_str_t  mcp_variable_env[MCP_VARIABLE_COUNT] = {
    [MCP_VARIABLE_METHOD] = mcp_str("MCP_METHOD"),
    [MCP_VARIABLE_NAME] = mcp_str("MCP_NAME"),
    [MCP_VARIABLE_REQUEST_ID] = mcp_str("MCP_REQUEST_ID"),
    [MCP_VARIABLE_SESSION_ID] = mcp_str("MCP_SESSION"),
    [MCP_VARIABLE_PRINCIPAL] = mcp_str("MCP_PRINCIPAL"),
    [MCP_VARIABLE_PROTOCOL_VERSION] = mcp_str("MCP_PROTOCOL_VERSION"),
    [MCP_VARIABLE_CLIENT_CAPABILITIES] = mcp_str("MCP_CLIENT_CAPABILITIES"),
    [MCP_VARIABLE_PROGRESS_TOKEN] = mcp_str("MCP_PROGRESS_TOKEN"),
    [MCP_VARIABLE_CALL] = mcp_str("MCP_CALL"),
    [MCP_VARIABLE_PUBLISH_URL] = mcp_str("MCP_PUBLISH_URL"),
    [MCP_VARIABLE_TRACEPARENT] = mcp_str("MCP_TRACEPARENT"),
    [MCP_VARIABLE_TRACESTATE] = mcp_str("MCP_TRACESTATE"),
    [MCP_VARIABLE_BAGGAGE] = mcp_str("MCP_BAGGAGE"),
    [MCP_VARIABLE_UPSTREAM_VERSION] = mcp_str("MCP_UPSTREAM_VERSION"),
    [MCP_VARIABLE_UPSTREAM_MCP_NAME] = mcp_str("MCP_UPSTREAM_MCP_NAME"),
    [MCP_VARIABLE_UPSTREAM_SESSION] = mcp_str("MCP_UPSTREAM_SESSION"),
    [MCP_VARIABLE_UPSTREAM_LAST_EVENT_ID] =
        mcp_str("MCP_UPSTREAM_LAST_EVENT_ID"),
    [MCP_VARIABLE_UPSTREAM_AFFINITY] = mcp_str("MCP_UPSTREAM_AFFINITY"),
    [MCP_VARIABLE_UPSTREAM_STATE] = mcp_str("MCP_UPSTREAM_STATE")
};


#define mcp_variable_bytes(c)  ((uint64_t) -1 / 255 * (c))

/* Nonzero if the word w contains a byte below n, where n is at most 0x80. */
#define mcp_variable_less(w, n)                                               \
    (((w) - mcp_variable_bytes(n)) & ~(w) & mcp_variable_bytes(0x80))


static inline int
mcp_variable_word_has_control(uint64_t word)
{
    return (mcp_variable_less(word, 0x20)
            | mcp_variable_less(word ^ mcp_variable_bytes(0x7f), 1)) != 0;
}


/*
 * Checks eight bytes at a time, because this function runs a dozen times for
 * each call. The last eight bytes of a text are checked together, even if some
 * bytes have already been checked.
 */
int
mcp_variable_has_control(mcp_str_t s)
{
    size_t         i;
    unsigned char  c;

    if (s.len >= 8) {
        for (i = 0; i + 8 < s.len; i += 8) {
            if (mcp_variable_word_has_control(mcp_word(s.data + i))) {
                return 1;
            }
        }

        return mcp_variable_word_has_control(mcp_word(s.data + s.len - 8));
    }

    if (s.len >= 4) {
        return mcp_variable_word_has_control(mcp_short_word(s.data, s.len));
    }

    for (i = 0; i < s.len; i++) {
        c = (unsigned char) s.data[i];

        if (c < 0x20 || c == 0x7f) {
            return 1;
        }
    }

    return 0;
}


void
mcp_variable_set(mcp_variables_t *variables, mcp_variable_e variable,
    mcp_str_t value)
{
    /* many values are empty, so their length is checked before the call */

    if (value.len > 0 && mcp_variable_has_control(value)) {
        value = mcp_str("?");
    }

    variables->value[variable] = value;
}
