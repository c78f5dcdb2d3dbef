/* SPDX-License-Identifier: Apache-2.0 */

#include "mcp_fact.h"


const mcp_str_t  mcp_fact_names[MCP_FACT_COUNT] = {
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
    mcp_str("mcp_face"),
    mcp_str("mcp_joined")
};


const mcp_str_t  mcp_fact_env[MCP_FACT_COUNT] = {
    [MCP_FACT_METHOD] = mcp_str("MCP_METHOD"),
    [MCP_FACT_NAME] = mcp_str("MCP_NAME"),
    [MCP_FACT_REQUEST_ID] = mcp_str("MCP_REQUEST_ID"),
    [MCP_FACT_SESSION_ID] = mcp_str("MCP_SESSION"),
    [MCP_FACT_PRINCIPAL] = mcp_str("MCP_PRINCIPAL"),
    [MCP_FACT_PROTOCOL_VERSION] = mcp_str("MCP_PROTOCOL_VERSION"),
    [MCP_FACT_CLIENT_CAPABILITIES] = mcp_str("MCP_CLIENT_CAPABILITIES"),
    [MCP_FACT_PROGRESS_TOKEN] = mcp_str("MCP_PROGRESS_TOKEN"),
    [MCP_FACT_CALL] = mcp_str("MCP_CALL"),
    [MCP_FACT_PUBLISH_URL] = mcp_str("MCP_PUBLISH_URL"),
    [MCP_FACT_TRACEPARENT] = mcp_str("MCP_TRACEPARENT"),
    [MCP_FACT_TRACESTATE] = mcp_str("MCP_TRACESTATE"),
    [MCP_FACT_BAGGAGE] = mcp_str("MCP_BAGGAGE")
};


#define mcp_fact_bytes(c)  ((uint64_t) -1 / 255 * (c))

/* Whether there is a byte below n in a word, n <= 0x80. */
#define mcp_fact_less(w, n)                                                  \
    (((w) - mcp_fact_bytes(n)) & ~(w) & mcp_fact_bytes(0x80))


static inline int
mcp_fact_word_has_control(const char *p)
{
    uint64_t  word;

    memcpy(&word, p, sizeof(word));

    return (mcp_fact_less(word, 0x20)
            | mcp_fact_less(word ^ mcp_fact_bytes(0x7f), 1)) != 0;
}


/* Eight bytes at a time: each call has a dozen facts.  The last eight may be
 * some of those before, too. */
int
mcp_fact_has_control(mcp_str_t s)
{
    size_t         i;
    unsigned char  c;

    if (s.len >= 8) {
        for (i = 0; i + 8 < s.len; i += 8) {
            if (mcp_fact_word_has_control(s.data + i)) {
                return 1;
            }
        }

        return mcp_fact_word_has_control(s.data + s.len - 8);
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
mcp_fact_set(mcp_facts_t *facts, mcp_fact_e fact, mcp_str_t value)
{
    /* many are empty */

    if (value.len > 0 && mcp_fact_has_control(value)) {
        value = mcp_str("?");
    }

    facts->value[fact] = value;
}
