/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the limits of calls from the keys of catalog items, such as
 * "x-mcp-max-wait", and applies them to a call's policy. */


#include "config/mcp_call_policy.h"


typedef enum {
    MCP_POLICY_FLAG = 0,
    MCP_POLICY_TIME,
    MCP_POLICY_SIZE,           /* at least 1 */
    MCP_POLICY_COUNT,          /* at least 1 */
    MCP_POLICY_SCOPE,          /* "public" or "private" */
    MCP_POLICY_JOIN,           /* "key" or "arguments" */
    MCP_POLICY_TASK            /* a keyword, or a time */
} mcp_policy_type_e;


typedef struct {
    mcp_str_t          key;
    mcp_policy_type_e  type;
    size_t             offset;         /* offset of the key's member in
                                          mcp_policy_t */
    unsigned           kinds;          /* bits of the kinds (mcp_list_e) that
                                          may have the key; 0: all */
} mcp_policy_key_t;


#define MCP_POLICY_READ                                                      \
    (1U << MCP_LIST_RESOURCES | 1U << MCP_LIST_TEMPLATES)
#define MCP_POLICY_TOOL  (1U << MCP_LIST_TOOLS)


#define MCP_POLICY_ROW(key, type, member, kinds)                              \
    { mcp_str("x-mcp-" key), MCP_POLICY_##type, offsetof(mcp_policy_t, member),\
      kinds }

static const mcp_policy_key_t  mcp_policy_keys[] = {
    MCP_POLICY_ROW("resumable", FLAG, resumable, 0),
    MCP_POLICY_ROW("max-events", COUNT, max_events, 0),
    MCP_POLICY_ROW("max-wait", TIME, max_wait, 0),
    MCP_POLICY_ROW("min-wait", TIME, min_wait, 0),
    MCP_POLICY_ROW("stream-after", TIME, stream_after, 0),
    MCP_POLICY_ROW("close-after", TIME, close_after, 0),
    MCP_POLICY_ROW("resume-after", TIME, resume_after, 0),
    MCP_POLICY_ROW("stream-buffer", SIZE, stream_buffer, 0),
    MCP_POLICY_ROW("cache-ttl", TIME, cache_ttl, MCP_POLICY_READ),
    MCP_POLICY_ROW("cache-scope", SCOPE, cache_public, MCP_POLICY_READ),
    MCP_POLICY_ROW("join", JOIN, join, MCP_POLICY_TOOL),
    MCP_POLICY_ROW("task", TASK, task, MCP_POLICY_TOOL)
};

#define MCP_POLICY_KEYS                                                      \
    (sizeof(mcp_policy_keys) / sizeof(mcp_policy_key_t))

/* maximum of a time: one year, so that no sum of times overflows */
#define MCP_POLICY_MAX_SECONDS  31536000
#define MCP_POLICY_MAX_BYTES    ((uint64_t) 1 << 40)
#define MCP_POLICY_MAX_EVENTS   1073741824


static const char *const  mcp_policy_errors[] = {
    "must be true or false",
    "must be a number of seconds, with three decimals at most",
    "must be a number of bytes, 1 or more",
    "must be a number of events, 1 or more",
    "must be \"public\" or \"private\"",
    "must be \"key\" or \"arguments\"",
    ("must be \"never\", \"auto\", \"always\", \"required\" or a number of "
     "seconds")
};


/* Converts a raw JSON number of seconds to ms. Returns MCP_OK, or
 * MCP_ERR_CONFIG if it has a sign, an exponent or more than three decimals, or
 * exceeds MCP_POLICY_MAX_SECONDS. */
static int
mcp_policy_seconds(mcp_str_t raw, uint64_t *ms)
{
    size_t     i, digits;
    uint64_t   n, part;
    mcp_str_t  whole;

    for (i = 0; i < raw.len && raw.data[i] != '.'; i++) { /* void */ }

    whole.data = raw.data;
    whole.len = i;

    if (mcp_str_uint(whole, &n) != MCP_OK || n > MCP_POLICY_MAX_SECONDS) {
        return MCP_ERR_CONFIG;
    }

    n *= 1000;
    part = 100;

    for (digits = 0, i++; i < raw.len; i++, digits++) {
        if (digits == 3 || raw.data[i] < '0' || raw.data[i] > '9') {
            return MCP_ERR_CONFIG;
        }

        n += part * (uint64_t) (raw.data[i] - '0');
        part /= 10;
    }

    *ms = n;

    return MCP_OK;
}


/* The keywords of each type, and their values. */
static const struct {
    mcp_policy_type_e  type;
    mcp_str_t          text;
    uint64_t           value;
} mcp_policy_words[] = {
    { MCP_POLICY_SCOPE, mcp_str("public"), 1 },
    { MCP_POLICY_SCOPE, mcp_str("private"), 0 },
    { MCP_POLICY_JOIN, mcp_str("key"), MCP_JOIN_KEY },
    { MCP_POLICY_JOIN, mcp_str("arguments"), MCP_JOIN_ARGUMENTS },
    { MCP_POLICY_TASK, mcp_str("never"), MCP_TASK_NEVER },
    { MCP_POLICY_TASK, mcp_str("auto"), MCP_TASK_AUTO },
    { MCP_POLICY_TASK, mcp_str("always"), MCP_TASK_ALWAYS },
    { MCP_POLICY_TASK, mcp_str("required"), MCP_TASK_REQUIRED }
};

#define MCP_POLICY_WORDS                                                      \
    (sizeof(mcp_policy_words) / sizeof(mcp_policy_words[0]))


static int
mcp_policy_number(const mcp_json_value_t *value, mcp_policy_type_e type,
    uint64_t *n)
{
    size_t    i;
    uint64_t  max;

    for (i = 0; i < MCP_POLICY_WORDS; i++) {
        if (mcp_policy_words[i].type == type
            && mcp_json_str_eq(value->raw, mcp_policy_words[i].text))
        {
            *n = mcp_policy_words[i].value;
            return MCP_OK;
        }
    }

    switch (type) {

    case MCP_POLICY_FLAG:
        *n = value->raw.len == sizeof("true") - 1;
        return value->type == MCP_JSON_BOOL ? MCP_OK : MCP_ERR_CONFIG;

    case MCP_POLICY_TIME:
    case MCP_POLICY_TASK:
        return mcp_policy_seconds(value->raw, n);

    case MCP_POLICY_SIZE:
    case MCP_POLICY_COUNT:
        max = type == MCP_POLICY_COUNT ? MCP_POLICY_MAX_EVENTS
                                       : MCP_POLICY_MAX_BYTES;

        /* rejects 0, which the store would take for no limit */

        return mcp_str_uint(value->raw, n) == MCP_OK && *n && *n <= max
               ? MCP_OK : MCP_ERR_CONFIG;

    default:
        return MCP_ERR_CONFIG;
    }
}


int
mcp_policy_read(mcp_policy_rule_t *rule, mcp_list_e kind, mcp_str_t key,
    const mcp_json_value_t *value, const char **error)
{
    size_t                   i;
    uint64_t                 n;
    const mcp_policy_key_t  *k;

    for (i = 0; i < MCP_POLICY_KEYS; i++) {
        k = &mcp_policy_keys[i];

        if (!mcp_str_eq(k->key, key)) {
            continue;
        }

        if (k->kinds && !(k->kinds & 1U << kind)) {
            *error = k->kinds == MCP_POLICY_TOOL
                     ? "is allowed only for tools"
                     : "is allowed only for resources and resource templates";
            return MCP_ERR_CONFIG;
        }

        if (rule->set & (1U << i)) {
            *error = "is duplicate";
            return MCP_ERR_CONFIG;
        }

        if (mcp_policy_number(value, k->type, &n) != MCP_OK) {
            *error = mcp_policy_errors[k->type];
            return MCP_ERR_CONFIG;
        }

        if (k->type == MCP_POLICY_TASK) {
            rule->has_task = 1;

            if (value->type == MCP_JSON_NUMBER) {
                rule->value.task_after = n ? n : 1;
                n = MCP_TASK_AUTO;
            }
        }

        rule->set |= 1U << i;
        memcpy((char *) &rule->value + k->offset, &n, sizeof(uint64_t));

        return MCP_OK;
    }

    *error = "is unknown";

    return MCP_ERR_CONFIG;
}


void
mcp_policy_apply(mcp_policy_t *policy, const mcp_policy_rule_t *rule)
{
    size_t  i, offset;

    for (i = 0; rule && i < MCP_POLICY_KEYS; i++) {
        if (rule->set & (1U << i)) {
            offset = mcp_policy_keys[i].offset;
            memcpy((char *) policy + offset,
                   (const char *) &rule->value + offset, sizeof(uint64_t));
        }
    }

    if (rule && rule->value.task_after) {
        policy->task_after = rule->value.task_after;
    }

    /*
     * a call that cannot be resumed: its stream is not kept without a reader,
     * and its connection is not closed early
     */

    if (policy->max_wait == 0) {
        policy->resumable = 0;
    }

    if (!policy->resumable) {
        policy->max_wait = 0;
        policy->close_after = 0;
        policy->resume_after = 0;
    }
}


int
mcp_policy_is_task(const mcp_policy_t *policy, unsigned capabilities)
{
    return (capabilities & MCP_CLIENT_TASKS)
           && policy->task != MCP_TASK_NEVER
           && (policy->task == MCP_TASK_REQUIRED
               || !(capabilities & MCP_CLIENT_REQUESTS));
}
