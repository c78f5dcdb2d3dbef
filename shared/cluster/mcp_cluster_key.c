/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The names of keys in Redis, and the keys of each script. A script gets in
 * KEYS each key whose name is known before it runs, see
 * redis/common_members.lua.
 *
 * The name of a key is PREFIX:1:KIND, followed by an id or a digest if there
 * are several keys of this kind. The hash tag in the prefix puts all keys into
 * one slot of a Redis Cluster.
 */


#include "cluster/mcp_cluster_internal.h"


/* The source of the id or digest in the name of a script's key, if it is not
 * an argument: the name has none, or it is the id of this node. */
#define MCP_KEY_ONLY  (-1)
#define MCP_KEY_SELF  (-2)

/* Maximum number of keys of a script, with an end mark. */
#define MCP_KEY_ROW   (MCP_SCRIPT_KEYS + 1)


typedef struct {
    mcp_key_e  kind;
    int        of;             /* index of the argument with the id or digest,
                                  where 0 is ARGV[3]; MCP_KEY_ONLY or
                                  MCP_KEY_SELF */
} mcp_script_key_t;


static const char *const  mcp_key_kinds[MCP_KEYS] = {
    [MCP_KEY_NODES] = "nodes",
    [MCP_KEY_SINCE] = "since",
    [MCP_KEY_RUN] = "run",
    [MCP_KEY_LAYOUT] = "layout",
    [MCP_KEY_TOLD] = "told",
    [MCP_KEY_HEARD] = "heard",
    [MCP_KEY_NODE] = "n:",
    [MCP_KEY_MARK] = "x:",
    [MCP_KEY_QUEUE] = "m:",
    [MCP_KEY_OWNED] = "o:",
    [MCP_KEY_GIVEN] = "g:",
    [MCP_KEY_HEAD] = "h:",
    [MCP_KEY_LOG] = "e:",
    [MCP_KEY_SPEC] = "c:",
    [MCP_KEY_TOPICS] = "t:",
    [MCP_KEY_LISTENERS] = "b:",
    [MCP_KEY_JOINED] = "k:",
    [MCP_KEY_STREAMS] = "s:",
    [MCP_KEY_CALLS] = "a:",
    [MCP_KEY_CROWDED] = "q:",
    [MCP_KEY_CLAIM] = "j:",
    [MCP_KEY_TOKEN] = "v:",
    [MCP_KEY_PROCESS] = "i:"
};


/* The keys of common_members.lua, common_registration.lua and
 * common_streams.lua, in their order. */

#define MCP_KEY_MEMBERS                                                       \
    { MCP_KEY_NODES, MCP_KEY_ONLY }, { MCP_KEY_MARK, MCP_KEY_SELF },          \
    { MCP_KEY_NODE, MCP_KEY_SELF }, { MCP_KEY_SINCE, MCP_KEY_ONLY }

#define MCP_KEY_REGISTRATION                                                  \
    MCP_KEY_MEMBERS,                                                          \
    { MCP_KEY_RUN, MCP_KEY_ONLY }, { MCP_KEY_LAYOUT, MCP_KEY_ONLY }

#define MCP_KEY_STREAM                                                        \
    MCP_KEY_MEMBERS,                                                          \
    { MCP_KEY_HEAD, 0 }, { MCP_KEY_LOG, 0 }, { MCP_KEY_SPEC, 0 },             \
    { MCP_KEY_TOPICS, 0 }, { MCP_KEY_LISTENERS, 0 }, { MCP_KEY_JOINED, 0 }

#define MCP_KEY_END                                                           \
    { MCP_KEYS, MCP_KEY_ONLY }


/* KEYS of each script, in their order. The header of the script describes the
 * keys that follow the common ones. redis/keep.lua gets further keys, see
 * mcp_cluster_keep.c. */
static const mcp_script_key_t  mcp_script_keys[MCP_SCRIPTS][MCP_KEY_ROW] = {
    [MCP_SCRIPT_REGISTER] = { MCP_KEY_REGISTRATION, MCP_KEY_END },
    [MCP_SCRIPT_HEARTBEAT] = { MCP_KEY_REGISTRATION, MCP_KEY_END },
    [MCP_SCRIPT_BROADCAST] = {
        MCP_KEY_MEMBERS, { MCP_KEY_TOLD, MCP_KEY_ONLY },
        { MCP_KEY_HEARD, MCP_KEY_ONLY }, { MCP_KEY_PROCESS, 6 }, MCP_KEY_END },
    [MCP_SCRIPT_APPEND] = {
        MCP_KEY_STREAM, { MCP_KEY_OWNED, MCP_KEY_SELF },
        { MCP_KEY_GIVEN, MCP_KEY_SELF }, { MCP_KEY_HEARD, MCP_KEY_ONLY },
        { MCP_KEY_STREAMS, 11 }, { MCP_KEY_CALLS, 11 }, { MCP_KEY_CROWDED, 11 },
        { MCP_KEY_CLAIM, 16 }, MCP_KEY_END },
    [MCP_SCRIPT_EVENT] = {
        { MCP_KEY_HEAD, 0 }, { MCP_KEY_LOG, 0 }, { MCP_KEY_MARK, MCP_KEY_SELF },
        MCP_KEY_END },
    [MCP_SCRIPT_RESUME] = { MCP_KEY_STREAM, MCP_KEY_END },
    [MCP_SCRIPT_LOOKUP] = { MCP_KEY_STREAM, MCP_KEY_END },
    [MCP_SCRIPT_LIST] = {
        MCP_KEY_MEMBERS, { MCP_KEY_STREAMS, 0 }, MCP_KEY_END },
    [MCP_SCRIPT_READ_POSITION] = { MCP_KEY_STREAM, MCP_KEY_END },
    [MCP_SCRIPT_FORGET] = {
        MCP_KEY_STREAM, { MCP_KEY_OWNED, MCP_KEY_SELF }, MCP_KEY_END },
    [MCP_SCRIPT_CLIENT_INPUT] = { MCP_KEY_STREAM, MCP_KEY_END },
    [MCP_SCRIPT_TOPIC] = {
        MCP_KEY_STREAM, { MCP_KEY_HEARD, MCP_KEY_ONLY }, MCP_KEY_END },
    [MCP_SCRIPT_QUOTA] = {
        MCP_KEY_MEMBERS, { MCP_KEY_CALLS, 0 }, MCP_KEY_END },
    [MCP_SCRIPT_TOKEN] = {
        MCP_KEY_MEMBERS, { MCP_KEY_TOKEN, 0 }, MCP_KEY_END },
    [MCP_SCRIPT_TAKEOVER] = {
        MCP_KEY_MEMBERS, { MCP_KEY_OWNED, MCP_KEY_SELF },
        { MCP_KEY_GIVEN, MCP_KEY_SELF }, { MCP_KEY_MARK, 0 },
        { MCP_KEY_OWNED, 0 }, { MCP_KEY_NODE, 0 }, { MCP_KEY_QUEUE, 0 },
        { MCP_KEY_GIVEN, 0 }, MCP_KEY_END },
    [MCP_SCRIPT_JOIN] = { MCP_KEY_STREAM, MCP_KEY_END },
    [MCP_SCRIPT_KEEP] = {
        MCP_KEY_MEMBERS, { MCP_KEY_OWNED, MCP_KEY_SELF }, MCP_KEY_END }
};


mcp_str_t
mcp_cluster_key(const mcp_cluster_t *cluster, mcp_key_e kind, mcp_str_t of,
    char key[MCP_CLUSTER_KEY_MAX])
{
    char       *p;
    size_t      i;
    mcp_str_t   parts[] = { cluster->conf->prefix, mcp_str(":1:"),
                            mcp_null_str, of };

    parts[2].data = mcp_key_kinds[kind];
    parts[2].len = strlen(mcp_key_kinds[kind]);
    p = key;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].len) {
            memcpy(p, parts[i].data, parts[i].len);
            p += parts[i].len;
        }
    }

    return (mcp_str_t) { key, (size_t) (p - key) };
}


mcp_str_t
mcp_cluster_stream_key(const mcp_cluster_t *cluster, mcp_key_e kind,
    const unsigned char id[MCP_STREAM_ID_LEN], char key[MCP_CLUSTER_KEY_MAX])
{
    char  text[MCP_STREAM_TEXT_LEN];

    (void) mcp_stream_id_print(text, id);

    return mcp_cluster_key(cluster, kind,
                           (mcp_str_t) { text, MCP_STREAM_TEXT_LEN }, key);
}


size_t
mcp_script_keys_of(const mcp_cluster_t *cluster, mcp_script_e script,
    const mcp_str_t *args, size_t n, mcp_script_keys_t *keys)
{
    char                     id[MCP_CLUSTER_ID_LEN + 1];
    size_t                   i;
    mcp_str_t                of;
    const mcp_script_key_t  *key;

    mcp_cluster_id(cluster, id);
    key = mcp_script_keys[script];

    for (i = 0; key[i].kind != MCP_KEYS; i++) {

        if (key[i].of == MCP_KEY_ONLY) {
            of = mcp_null_str;

        } else if (key[i].of == MCP_KEY_SELF) {
            of = (mcp_str_t) { id, MCP_CLUSTER_ID_LEN };

        } else if ((size_t) key[i].of < n) {
            of = args[key[i].of];

        } else {
            break;
        }

        keys->keys[i] = mcp_cluster_key(cluster, key[i].kind, of,
                                        keys->text[i]);
    }

    return i;
}
