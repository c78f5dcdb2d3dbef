/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the keys of catalog items that are limits of calls. */


#include "config/mcp_policy.h"


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
    size_t             offset;         /* offset of the uint64_t in
                                          mcp_policy_t */
    unsigned           kinds;          /* bits of the kinds (mcp_list_e) that
                                          may have the key; 0: all */
} mcp_policy_key_t;


#define MCP_POLICY_READ                                                      \
    (1U << MCP_LIST_RESOURCES | 1U << MCP_LIST_TEMPLATES)
#define MCP_POLICY_TOOL  (1U << MCP_LIST_TOOLS)


/* value of "offset" for members that are not a uint64_t: mcp_policy_set() sets
 * them by name */
#define MCP_POLICY_BY_NAME  ((size_t) -1)

static const mcp_policy_key_t  mcp_policy_keys[] = {
    { { "x-mcp-resumable", 15 }, MCP_POLICY_FLAG, MCP_POLICY_BY_NAME, 0 },
    { { "x-mcp-max-events", 16 }, MCP_POLICY_COUNT, MCP_POLICY_BY_NAME, 0 },
    { { "x-mcp-max-wait", 14 }, MCP_POLICY_TIME,
      offsetof(mcp_policy_t, max_wait), 0 },
    { { "x-mcp-min-wait", 14 }, MCP_POLICY_TIME,
      offsetof(mcp_policy_t, min_wait), 0 },
    { { "x-mcp-stream-after", 18 }, MCP_POLICY_TIME,
      offsetof(mcp_policy_t, stream_after), 0 },
    { { "x-mcp-close-after", 17 }, MCP_POLICY_TIME,
      offsetof(mcp_policy_t, close_after), 0 },
    { { "x-mcp-resume-after", 18 }, MCP_POLICY_TIME,
      offsetof(mcp_policy_t, resume_after), 0 },
    { { "x-mcp-stream-buffer", 19 }, MCP_POLICY_SIZE,
      offsetof(mcp_policy_t, stream_buffer), 0 },
    { { "x-mcp-cache-ttl", 15 }, MCP_POLICY_TIME,
      offsetof(mcp_policy_t, cache_ttl), MCP_POLICY_READ },
    { { "x-mcp-cache-scope", 17 }, MCP_POLICY_SCOPE, MCP_POLICY_BY_NAME,
      MCP_POLICY_READ },
    { { "x-mcp-join", 10 }, MCP_POLICY_JOIN, MCP_POLICY_BY_NAME,
      MCP_POLICY_TOOL },
    { { "x-mcp-task", 10 }, MCP_POLICY_TASK, MCP_POLICY_BY_NAME,
      MCP_POLICY_TOOL }
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
    "must be \"never\", \"auto\", \"always\", \"required\" or seconds"
};


/* Reads a number of seconds, without sign and exponent, and converts it to
 * ms. */
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


/* The two values that "x-mcp-task" sets, "task" and "task_after", as one
 * number. */
#define MCP_POLICY_TASK_TIME    4
#define mcp_policy_task(p)  ((p)->task_after * MCP_POLICY_TASK_TIME + (p)->task)

static int
mcp_policy_read_task(const mcp_json_value_t *value, uint64_t *n)
{
    unsigned  i;

    static const mcp_str_t  words[] = {
        [MCP_TASK_NEVER] = mcp_str("never"),
        [MCP_TASK_AUTO] = mcp_str("auto"),
        [MCP_TASK_ALWAYS] = mcp_str("always"),
        [MCP_TASK_REQUIRED] = mcp_str("required")
    };

    if (value->type == MCP_JSON_NUMBER
        && mcp_policy_seconds(value->raw, n) == MCP_OK)
    {
        *n = (*n ? *n : 1) * MCP_POLICY_TASK_TIME + MCP_TASK_AUTO;
        return MCP_OK;
    }

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (mcp_json_str_eq(value->raw, words[i])) {
            *n = i;
            return MCP_OK;
        }
    }

    return MCP_ERR_CONFIG;
}


static int
mcp_policy_number(const mcp_json_value_t *value, mcp_policy_type_e type,
    uint64_t *n)
{
    uint64_t  max;

    if (type == MCP_POLICY_FLAG) {
        *n = value->raw.len == sizeof("true") - 1;
        return value->type == MCP_JSON_BOOL ? MCP_OK : MCP_ERR_CONFIG;
    }

    if (type == MCP_POLICY_SCOPE) {
        *n = mcp_json_str_eq(value->raw, mcp_str("public")) ? 1 : 0;
        return *n || mcp_json_str_eq(value->raw, mcp_str("private"))
               ? MCP_OK : MCP_ERR_CONFIG;
    }

    if (type == MCP_POLICY_JOIN) {
        *n = mcp_json_str_eq(value->raw, mcp_str("key")) ? MCP_JOIN_KEY
             : mcp_json_str_eq(value->raw, mcp_str("arguments"))
               ? MCP_JOIN_ARGUMENTS : MCP_JOIN_NOT;
        return *n ? MCP_OK : MCP_ERR_CONFIG;
    }

    if (type == MCP_POLICY_TASK) {
        return mcp_policy_read_task(value, n);
    }

    if (value->type != MCP_JSON_NUMBER) {
        return MCP_ERR_CONFIG;
    }

    if (type == MCP_POLICY_TIME) {
        return mcp_policy_seconds(value->raw, n);
    }

    if (mcp_str_uint(value->raw, n) != MCP_OK) {
        return MCP_ERR_CONFIG;
    }

    /* rejects 0, which the store would take for no limit */

    max = type == MCP_POLICY_COUNT ? MCP_POLICY_MAX_EVENTS
                                   : MCP_POLICY_MAX_BYTES;

    return *n && *n <= max ? MCP_OK : MCP_ERR_CONFIG;
}


static void
mcp_policy_set(mcp_policy_t *policy, const mcp_policy_key_t *k, uint64_t n)
{
    if (k->type == MCP_POLICY_FLAG) {
        policy->resumable = (n != 0);

    } else if (k->type == MCP_POLICY_COUNT) {
        policy->max_events = (uint32_t) n;

    } else if (k->type == MCP_POLICY_SCOPE) {
        policy->cache_public = (n != 0);

    } else if (k->type == MCP_POLICY_JOIN) {
        policy->join = (unsigned) n & 3;

    } else if (k->type == MCP_POLICY_TASK) {
        policy->task = n % MCP_POLICY_TASK_TIME;

        if (n / MCP_POLICY_TASK_TIME) {
            policy->task_after = n / MCP_POLICY_TASK_TIME;
        }

    } else {
        memcpy((char *) policy + k->offset, &n, sizeof(uint64_t));
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

        rule->set |= 1U << i;
        rule->has_task |= k->type == MCP_POLICY_TASK;
        mcp_policy_set(&rule->value, k, n);

        return MCP_OK;
    }

    *error = "is unknown";

    return MCP_ERR_CONFIG;
}


void
mcp_policy_apply(mcp_policy_t *policy, const mcp_policy_rule_t *rule)
{
    size_t                   i;
    uint64_t                 n;
    const mcp_policy_key_t  *k;

    for (i = 0; rule && i < MCP_POLICY_KEYS; i++) {
        if (!(rule->set & (1U << i))) {
            continue;
        }

        k = &mcp_policy_keys[i];

        if (k->type == MCP_POLICY_FLAG) {
            n = rule->value.resumable;

        } else if (k->type == MCP_POLICY_COUNT) {
            n = rule->value.max_events;

        } else if (k->type == MCP_POLICY_SCOPE) {
            n = rule->value.cache_public;

        } else if (k->type == MCP_POLICY_JOIN) {
            n = rule->value.join;

        } else if (k->type == MCP_POLICY_TASK) {
            n = mcp_policy_task(&rule->value);

        } else {
            memcpy(&n, (const char *) &rule->value + k->offset,
                   sizeof(uint64_t));
        }

        mcp_policy_set(policy, k, n);
    }

    /*
     * a call that cannot be resumed is not kept, and its connection is not
     * closed early
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
