/* SPDX-License-Identifier: Apache-2.0 */

/* The options of an endpoint whose value is one number. This table is the
 * source of both servers' directives, their defaults and bounds, their
 * inheritance and the check of the documentation. */


#ifndef MCP_NUMBER_OPTION_H_INCLUDED
#define MCP_NUMBER_OPTION_H_INCLUDED


#include "mcp.h"


MCP_DECLARATIONS_BEGIN


/*
 * X(id, member of mcp_endpoint_t, nginx name, Apache name, kind, 1 if it may
 * be "off" (0), minimum, maximum, default)
 *
 * Times are in milliseconds, sizes in bytes. The maximum of mcp_max_batch is
 * 64, because a call has one bit for each answered request in a word of 64
 * bits.
 */
#define MCP_OPTIONS(X)                                                        \
    X(SESSION_LIFETIME, session_lifetime, "mcp_session_lifetime",             \
      "MCPSessionLifetime", TIME, 0, 1, MCP_TIME_MAX, 86400000)               \
    X(CACHE_TTL, cache_ttl, "mcp_cache_ttl",                                  \
      "MCPCacheTTL", TIME, 0, 0, MCP_TIME_MAX, 0)                             \
    X(STREAM_AFTER, stream_after, "mcp_stream_after",                         \
      "MCPStreamAfter", TIME, 0, 0, MCP_TIME_MAX, 1000)                       \
    X(TASK_AFTER, task_after, "mcp_task_after",                               \
      "MCPTaskAfter", TIME, 1, 0, MCP_TIME_MAX, 1000)                         \
    X(TASK_TTL, task_ttl, "mcp_task_ttl",                                     \
      "MCPTaskTTL", TIME, 0, 1, MCP_TIME_MAX, 3600000)                        \
    X(POLICY_AFTER, policy_after, "mcp_policy_after",                         \
      "MCPPolicyAfter", TIME, 0, 0, MCP_TIME_MAX, 50)                         \
    X(CLOSE_AFTER, close_after, "mcp_close_after",                            \
      "MCPCloseAfter", TIME, 1, 0, MCP_TIME_MAX, 0)                           \
    X(RETRY, retry, "mcp_retry",                                              \
      "MCPRetry", TIME, 0, 0, MCP_TIME_MAX, 2000)                             \
    X(KEEPALIVE, keepalive, "mcp_keepalive",                                  \
      "MCPKeepAlive", TIME, 1, 0, MCP_TIME_MAX, 15000)                        \
    X(MAX_WAIT, max_wait, "mcp_max_wait",                                     \
      "MCPMaxWait", TIME, 0, 0, MCP_TIME_MAX, 600000)                         \
    X(MIN_WAIT, min_wait, "mcp_min_wait",                                     \
      "MCPMinWait", TIME, 1, 0, MCP_TIME_MAX, 0)                              \
    X(RESUME_STATELESS, resume_stateless, "mcp_resume_stateless",             \
      "MCPResumeStateless", RESUME_STATELESS, 1, 0, 2, 1)                     \
    X(RECONNECT_WAIT, reconnect_wait, "mcp_reconnect_wait",                   \
      "MCPReconnectWait", TIME, 0, 1, MCP_TIME_MAX, 10000)                    \
    X(LINK, link, "mcp_link",                                                 \
      "MCPLink", FLAG, 0, 0, 1, 0)                                            \
    X(RESUME_TOKENS, resume_tokens, "mcp_resume_tokens",                      \
      "MCPResumeTokens", FLAG, 0, 0, 1, 0)                                    \
    X(RESUME_AFTER, resume_after, "mcp_resume_after",                         \
      "MCPResumeAfter", TIME, 1, 0, MCP_TIME_MAX, 10000)                      \
    X(RESUME_LIFETIME, resume_lifetime, "mcp_resume_lifetime",                \
      "MCPResumeLifetime", TIME, 0, 1, MCP_TIME_MAX, 3600000)                 \
    X(PASS_AUTHORIZATION, pass_authorization, "mcp_pass_authorization",       \
      "MCPPassAuthorization", FLAG, 0, 0, 1, 0)                               \
    X(PASS_COOKIE, pass_cookie, "mcp_pass_cookie",                            \
      "MCPPassCookie", FLAG, 0, 0, 1, 0)                                      \
    X(DEBUG, debug, "mcp_debug",                                              \
      "MCPDebug", FLAG, 0, 0, 1, 0)                                           \
    X(LINGER, linger, "mcp_linger",                                           \
      "MCPLinger", TIME, 0, 0, MCP_TIME_MAX, 60000)                           \
    X(JOIN_WAIT, join_wait, "mcp_join_wait",                                  \
      "MCPJoinWait", TIME, 0, 0, MCP_TIME_MAX, 10000)                         \
    X(CALL_TIMEOUT, call_timeout, "mcp_call_timeout",                         \
      "MCPCallTimeout", TIME, 0, 1, MCP_TIME_MAX, 600000)                     \
    X(INPUT_TIMEOUT, input_timeout, "mcp_input_timeout",                      \
      "MCPInputTimeout", TIME, 0, 1, MCP_TIME_MAX, 600000)                    \
    X(STATE_LIFETIME, state_lifetime, "mcp_state_lifetime",                   \
      "MCPStateLifetime", TIME, 0, 1, MCP_TIME_MAX, 600000)                   \
    X(MAX_EVENTS, max_events, "mcp_max_events",                               \
      "MCPMaxEvents", NUMBER, 0, 1, 1073741824, 65536)                        \
    X(STREAM_BUFFER, stream_buffer, "mcp_stream_buffer",                      \
      "MCPStreamBuffer", SIZE, 0, 1, MCP_SIZE_MAX, 8388608)                   \
    X(MAX_SESSION_STREAMS, max_session_streams, "mcp_max_session_streams",    \
      "MCPMaxSessionStreams", NUMBER, 1, 0, 1073741824, 1024)                 \
    X(QUOTA_KEY, quota_key, "mcp_quota_key",                                  \
      "MCPQuotaKey", QUOTA_KEY, 1, 0, 2, 0)                                   \
    X(QUOTA_STREAMS, quota_streams, "mcp_quota_streams",                      \
      "MCPQuotaStreams", QUOTA, 1, 0, 1073741824, 0)                          \
    X(QUOTA_LISTENERS, quota_listeners, "mcp_quota_listeners",                \
      "MCPQuotaListeners", QUOTA, 1, 0, 1073741824, 0)                        \
    X(QUOTA_VALUES, quota_values, "mcp_quota_values",                         \
      "MCPQuotaValues", QUOTA, 1, 0, 1073741824, 0)                           \
    X(QUOTA_BYTES, quota_bytes, "mcp_quota_bytes",                            \
      "MCPQuotaBytes", ROOM, 1, 0, MCP_SIZE_MAX, 0)                           \
    X(MAX_MESSAGE, max_message, "mcp_max_message",                            \
      "MCPMaxMessage", SIZE, 0, 1, MCP_SIZE_MAX, 8388608)                     \
    X(MAX_DEPTH, max_depth, "mcp_max_depth",                                  \
      "MCPMaxDepth", NUMBER, 0, 4, 512, 64)                                   \
    X(MAX_BATCH, max_batch, "mcp_max_batch",                                  \
      "MCPMaxBatch", NUMBER, 0, 1, 64, 50)                                    \
    X(PAGE_SIZE, page_size, "mcp_page_size",                                  \
      "MCPPageSize", NUMBER, 1, 0, 1073741824, 100)                           \
    X(UPSTREAM, upstream, "mcp_upstream",                                     \
      "MCPUpstream", UPSTREAM, 1, 0, 2, 0)                                    \
    X(UPSTREAM_CHECK, upstream_check, "mcp_upstream_check",                   \
      "MCPUpstreamCheck", TIME, 0, 1, MCP_TIME_MAX, 60000)                    \
    X(UPSTREAM_STALE, upstream_stale, "mcp_upstream_stale",                   \
      "MCPUpstreamStale", TIME, 1, 0, MCP_TIME_MAX, 600000)                   \
    X(UPSTREAM_SESSION, upstream_session, "mcp_upstream_session",             \
      "MCPUpstreamSession", UPSTREAM_SESSION, 0, 0, 2, 0)                     \
    X(UPSTREAM_LISTS, upstream_lists, "mcp_upstream_lists",                   \
      "MCPUpstreamLists", UPSTREAM_LISTS, 1, 0, 2, 1)                         \
    X(UPSTREAM_LISTEN, upstream_listen, "mcp_upstream_listen",                \
      "MCPUpstreamListen", FLAG, 0, 0, 1, 0)                                  \
    X(UPSTREAM_MAX_SESSIONS, upstream_max_sessions,                           \
      "mcp_upstream_max_sessions", "MCPUpstreamMaxSessions", NUMBER, 1, 0,    \
      1073741824, 0)


#define MCP_TIME_MAX  (INT64_MAX / 1000000)    /* ms; the same time in
                                                  nanoseconds fits an int64_t */
#define MCP_SIZE_MAX  (SIZE_MAX / 2)


#define MCP_OPTION_ID(id, member, nginx, apache, kind, off, min, max, def)    \
    MCP_OPTION_##id,

typedef enum {
    MCP_OPTIONS(MCP_OPTION_ID)
    MCP_OPTION_COUNT
} mcp_option_e;


/* Returns 1 if the option belongs to the section of an MCP server:
 * mcp_upstream, or one whose name begins with mcp_upstream_. */
static inline int
mcp_option_is_upstream(unsigned option)
{
    return option >= MCP_OPTION_UPSTREAM
           && option <= MCP_OPTION_UPSTREAM_MAX_SESSIONS;
}


/*
 * Parse a time into ms, or a size into bytes.
 *
 * Return MCP_OK, or
 *   MCP_ERR_SYNTAX  the text is not such a value, or exceeds INT64_MAX
 */
int mcp_option_time(mcp_str_t text, uint64_t *ms);
int mcp_option_size(mcp_str_t text, uint64_t *size);


MCP_DECLARATIONS_END


#endif /* MCP_NUMBER_OPTION_H_INCLUDED */
