/* SPDX-License-Identifier: Apache-2.0 */

/* The zone as a node of its cluster: the node's id, its leader process, and the
 * state of the cluster, so that every process can show it. */


#ifndef MCP_STORE_OWN_NODE_H_INCLUDED
#define MCP_STORE_OWN_NODE_H_INCLUDED


#include "store/mcp_store.h"


#define MCP_NODE_MEMBERS     32        /* maximum number of nodes that are
                                          shown */
#define MCP_NODE_LABEL_MAX   31
#define MCP_NODE_BUILD_MAX   31
#define MCP_NODE_REASON_MAX  159
#define MCP_NODE_RUN_MAX     47        /* maximum length of a run id of Redis */


/* All texts in these structures end with a NUL. */
typedef struct {
    uint64_t  id;
    uint64_t  heartbeat;       /* time of the node's last heartbeat, ms */
    char      label[MCP_NODE_LABEL_MAX + 1];
    char      build[MCP_NODE_BUILD_MAX + 1];
} mcp_node_member_t;


typedef struct {
    uint64_t           at;     /* when Redis sent the list of members, ms; 0:
                                  never */
    int64_t            offset; /* Redis's clock minus the local clock, ms */
    uint32_t           layout; /* highest layout of the data in Redis that all
                                  members read */
    uint32_t           n_members;
    mcp_node_member_t  members[MCP_NODE_MEMBERS];
} mcp_node_view_t;


/* The Redis streams by which nodes send messages to each other: two with
 * broadcasts, and the queue of each node. For the keys see
 * mcp_broadcast_key(). */
typedef enum {
    MCP_NODE_LASTING_BROADCASTS = 0, /* broadcasts that a joining node needs as
                                        well, such as ended sessions */
    MCP_NODE_BROADCASTS,       /* all other broadcasts */
    MCP_NODE_QUEUE,            /* the queue of this node's id */
    MCP_NODE_POSITIONS
} mcp_node_position_e;

/* The position up to which the node has received the messages of a Redis
 * stream: the id of an entry, which consists of a time in ms and a number. */
typedef struct {
    uint64_t           ms;
    uint64_t           n;
} mcp_node_position_t;


/* Counters since the zone was created. */
typedef enum {
    MCP_NODE_REPLICATED = 0,        /* events that Redis has acknowledged */
    MCP_NODE_REFILLED,          /* number of times that a stream was written to
                                   Redis again, because Redis had lost it or
                                   some events */
    MCP_NODE_LINKS_LOST,
    MCP_NODE_UNREACHABLE,       /* requests rejected because Redis was
                                   unreachable */
    MCP_NODE_TAKEN_OVER,            /* dead nodes whose streams this node has
                                       taken over */
    MCP_NODE_PROMOTED,          /* streams taken over from nodes that were
                                   declared dead */
    MCP_NODE_DROPPED,           /* streams of dead nodes, and client input from
                                   other nodes, that were lost: there was no
                                   room for them, or Redis lacked them */
    MCP_NODE_DISPLACED,         /* readers whose client resumed at another
                                   node */
    MCP_NODE_FENCED,            /* streams of this node that other nodes took
                                   over */
    MCP_NODE_REBORN,            /* number of times that this node was declared
                                   dead */
    MCP_NODE_UNEXPECTED_REPLY,  /* error replies of Redis, and replies that no
                                   script can give */
    MCP_NODE_COUNTS
} mcp_node_count_e;


/* The replication lag of one process, or the sum for all processes of the
 * node. */
typedef struct {
    uint64_t           events;
    uint64_t           bytes;
    uint64_t           since;  /* since when Redis has lacked the oldest of the
                                  events, ms; 0: there is none */
} mcp_node_lag_t;


/* The state of the cluster as the processes have recorded it. */
typedef struct {
    uint64_t           id;
    unsigned           processes;      /* number of processes that have
                                          recorded the state of their link to
                                          Redis */
    unsigned           up;     /* number of processes whose link is up */
    uint64_t           round_trip;     /* longest time for which a process of
                                          this node has waited for a reply of
                                          Redis to PING, ms */
    uint64_t           error_at;       /* time of the last error, ms; 0: there
                                          was none */
    char               error[MCP_NODE_REASON_MAX + 1];
    char               standalone[MCP_NODE_REASON_MAX + 1]; /* why the cluster
                                                               has rejected the
                                                               node; empty: the
                                                               node is not
                                                               standalone */
    uint64_t           mirrors;        /* number of mirrors */
    mcp_node_lag_t     lag;
    uint64_t           counts[MCP_NODE_COUNTS];
    mcp_node_view_t    view;
} mcp_node_info_t;


/* Returns the node's id, which is never 0; a new zone has a random one. */
uint64_t mcp_store_node_id(mcp_store_t *store);

/* Replaces the node's id "old" by "id", and resets the position in the node
 * queue. Does nothing if the node's id is not "old". */
void mcp_store_node_renew(mcp_store_t *store, uint64_t old, uint64_t id);

/*
 * Returns 1 if this process is the leader of the node: it was the leader
 * before, or it becomes the leader because there is no live one, or because
 * the leader has not called mcp_store_node_leader_reply() for "silence" ms.
 * mcp_store_node_resign() ends the leadership of this process, and wakes the
 * processes that may become the leader.
 */
int mcp_store_node_lead(mcp_store_t *store, uint64_t now, uint64_t silence);
void mcp_store_node_resign(mcp_store_t *store);

/* Returns 1 if no process has led the node yet, or the last leader has resigned
 * and no other process leads. Returns 0 if the last leader has died. */
int mcp_store_node_is_leaderless(mcp_store_t *store);

/* Wakes the leader of the node, if there is one. */
void mcp_store_node_wake_leader(mcp_store_t *store);

/* Returns 1 if this process is still the leader. Another process may have
 * become the leader while this process was paused. */
int mcp_store_node_is_leader(mcp_store_t *store);

/* Records that Redis has answered this process; has no effect unless this
 * process is the leader. */
void mcp_store_node_leader_reply(mcp_store_t *store, uint64_t now);

/* The state of a process's link to Redis. mcp_store_node_link() records the
 * state, and the link's round trip in ms. */
typedef enum {
    MCP_NODE_LINK_LOST = 0,
    MCP_NODE_LINK_IS_UP,
    MCP_NODE_LINK_LEADS        /* the link is up, and the process may become
                                  the leader: it is a member of the cluster,
                                  and does not shut down */
} mcp_node_link_e;

void mcp_store_node_link(mcp_store_t *store, mcp_node_link_e how,
    uint64_t round_trip);

/* Returns 1 if there is a process other than this one that may become the
 * leader. */
int mcp_store_node_has_other(mcp_store_t *store);

/* Records the replication lag of this process. */
void mcp_store_node_lag(mcp_store_t *store, const mcp_node_lag_t *lag);

/* Increments a counter of the cluster's status. */
void mcp_store_node_count(mcp_store_t *store, mcp_node_count_e which);

/*
 * mcp_store_node_error() stores an error of the cluster for the status. If no
 * process of the node has logged an error for "again" ms, it returns 1, and
 * this process has to log the error. It then sets *suppressed to the number of
 * errors since the last logged one.
 *
 * mcp_store_node_well() records that the errors are over. It returns 1 if
 * there was an error since its last call.
 */
int mcp_store_node_error(mcp_store_t *store, uint64_t now, uint64_t again,
    const char *text, uint64_t *suppressed);
int mcp_store_node_well(mcp_store_t *store);

/* Makes the next mcp_store_node_error() return 1, even within "again" ms of
 * the last logged error. */
void mcp_store_node_insist(mcp_store_t *store);

/* Stores the list of the cluster's members. Its texts must be printable. */
void mcp_store_node_view(mcp_store_t *store, const mcp_node_view_t *view);

/* Returns 1 if the node was a member of the cluster at any time since the zone
 * was created. */
int mcp_store_node_has_joined(mcp_store_t *store);

/* mcp_store_node_standalone() records why the node was rejected and serves
 * alone; "" records that the node is not standalone.
 * mcp_store_node_is_standalone() returns 1 if the node is standalone. */
void mcp_store_node_standalone(mcp_store_t *store, const char *why);
int mcp_store_node_is_standalone(mcp_store_t *store);

/* mcp_store_node_set_skewed() records whether the node's clock differs too
 * much from that of Redis. mcp_store_node_is_skewed() returns 1 if it does. */
void mcp_store_node_set_skewed(mcp_store_t *store, int skewed);
int mcp_store_node_is_skewed(mcp_store_t *store);

/* mcp_store_node_set_run() stores the run id of the Redis server to which a new
 * connection leads, at most MCP_NODE_RUN_MAX bytes. mcp_store_node_run() copies
 * the stored run id with a NUL; the text is empty if none was stored. */
void mcp_store_node_set_run(mcp_store_t *store, mcp_str_t run);
void mcp_store_node_run(mcp_store_t *store, char run[MCP_NODE_RUN_MAX + 1]);

/* mcp_store_node_set_position() stores the position up to which the node has
 * received the messages of a Redis stream. mcp_store_node_position() reads the
 * position. It is {0, 0} in a new zone, or if the lock cannot be taken. */
void mcp_store_node_set_position(mcp_store_t *store, mcp_node_position_e which,
    const mcp_node_position_t *position);
void mcp_store_node_position(mcp_store_t *store, mcp_node_position_e which,
    mcp_node_position_t *position);

/*
 * Reads the state of the cluster.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  no process has recorded a link, so there is no cluster
 *   MCP_ERR_INTERNAL   the lock cannot be taken
 */
int mcp_store_node_info(mcp_store_t *store, mcp_node_info_t *info);


#endif /* MCP_STORE_OWN_NODE_H_INCLUDED */
