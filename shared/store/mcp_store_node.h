/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a zone has to do with its cluster: the zone is one node of it.  Here is
 * who the node is, which process speaks for it, and what is known of the
 * cluster, so that any process can show it.
 */


#ifndef MCP_STORE_NODE_H_INCLUDED
#define MCP_STORE_NODE_H_INCLUDED


#include "store/mcp_store.h"


#define MCP_NODE_MEMBERS     32        /* nodes that are shown */
#define MCP_NODE_LABEL_MAX   31
#define MCP_NODE_BUILD_MAX   31
#define MCP_NODE_REASON_MAX  159


/* Texts end with a NUL, here and below. */
typedef struct {
    uint64_t  id;
    uint64_t  beat;            /* when its last beat was, ms */
    char      label[MCP_NODE_LABEL_MAX + 1];
    char      build[MCP_NODE_BUILD_MAX + 1];
} mcp_node_member_t;


typedef struct {
    uint64_t           at;     /* when Redis said so, ms; 0: never */
    int64_t            offset; /* its clock minus ours, ms */
    uint32_t           layout; /* what all members can read */
    uint32_t           n_members;
    mcp_node_member_t  members[MCP_NODE_MEMBERS];
} mcp_node_view_t;


/* Streams in Redis by which nodes tell each other. */
typedef enum {
    MCP_NODE_TOLD = 0,
    MCP_NODE_HEARD,
    MCP_NODE_MAIL,             /* of this node's id */
    MCP_NODE_PLACES
} mcp_node_place_e;

/* How far the node has heard one: the id of an entry. */
typedef struct {
    uint64_t           ms;
    uint64_t           n;
} mcp_node_place_t;


/* What is counted, since the zone began. */
typedef enum {
    MCP_NODE_COPIED = 0,       /* events that Redis has taken */
    MCP_NODE_REFILLED,         /* times that it had lost some of a stream */
    MCP_NODE_LINKS_LOST,
    MCP_NODE_AWAY,             /* requests refused, as Redis was out of reach */
    MCP_NODE_REAPED,           /* nodes taken for dead here */
    MCP_NODE_INHERITED,        /* streams of such nodes */
    MCP_NODE_DROPPED,          /* what others had for this node, and it had no
                                  room for */
    MCP_NODE_DISPLACED,        /* readers whose client came back elsewhere */
    MCP_NODE_FENCED,           /* streams that others took over */
    MCP_NODE_REBORN,           /* times that it was taken for dead itself */
    MCP_NODE_STRANGE,          /* replies that no script of ours gives */
    MCP_NODE_COUNTS
} mcp_node_count_e;


/* What a process, or all, have to copy to Redis. */
typedef struct {
    uint64_t           events;
    uint64_t           bytes;
    uint64_t           since;  /* when the oldest of these was seen, ms; 0:
                                  there is none */
} mcp_node_lag_t;


/* What processes have noted about the cluster. */
typedef struct {
    uint64_t           id;
    unsigned           processes;      /* that have noted their link */
    unsigned           up;     /* of these: whose link is up */
    uint64_t           round_trip;     /* the longest of theirs, ms */
    uint64_t           error_at;       /* ms; 0: there was none */
    char               error[MCP_NODE_REASON_MAX + 1];
    char               alone[MCP_NODE_REASON_MAX + 1]; /* why the node was
                                          refused; empty: it was not */
    uint64_t           mirrors;        /* streams of others that are here */
    mcp_node_lag_t     lag;
    uint64_t           counts[MCP_NODE_COUNTS];
    mcp_node_view_t    view;
} mcp_node_facts_t;


/* Returns the node's id, never 0; a new zone has one that is random. */
uint64_t mcp_store_node_id(mcp_store_t *store);

/* Gives the node another id, unless it is not "old" any more. */
void mcp_store_node_renew(mcp_store_t *store, uint64_t old, uint64_t id);

/*
 * Returns 1 if this process speaks for the node: it has been that, or nobody
 * living is, or nobody who has said mcp_store_node_spoke() for longer than
 * "silence", ms.  mcp_store_node_resign() makes it nobody if it was this one.
 */
int mcp_store_node_speaks(mcp_store_t *store, uint64_t now, uint64_t silence);
void mcp_store_node_resign(mcp_store_t *store);

/* Whether it is this one, which may have stood still until another one took
 * its place. */
int mcp_store_node_is_speaker(mcp_store_t *store);

/* Redis has answered this process, which speaks. */
void mcp_store_node_spoke(mcp_store_t *store, uint64_t now);

/* Notes how this process's link is, and its round trip, ms. */
typedef enum {
    MCP_NODE_LINK_LOST = 0,
    MCP_NODE_LINK_IS_UP,
    MCP_NODE_LINK_SPEAKS       /* and the process may speak for the node for
                                  longer: it is a member, and does not stop */
} mcp_node_link_e;

void mcp_store_node_link(mcp_store_t *store, mcp_node_link_e how,
    uint64_t round_trip);

/* Returns 1 if there is another process that may. */
int mcp_store_node_has_other(mcp_store_t *store);

/* Notes what this process has to copy. */
void mcp_store_node_lag(mcp_store_t *store, const mcp_node_lag_t *lag);

/* Counts something once more. */
void mcp_store_node_count(mcp_store_t *store, mcp_node_count_e which);

/*
 * Stores an error.  Returns 1 if the process logs it, because no process of the
 * node has logged one for "again" ms, and sets *suppressed to the number of
 * errors since the last logged one.  mcp_store_node_well() ends the state of
 * error, and returns 1 if the node was in it.
 */
int mcp_store_node_error(mcp_store_t *store, uint64_t now, uint64_t again,
    const char *text, uint64_t *suppressed);
int mcp_store_node_well(mcp_store_t *store);

/* The log is to be told of the next error, whatever it was told before. */
void mcp_store_node_insist(mcp_store_t *store);

/* Notes what Redis said of the members, with texts that are printable. */
void mcp_store_node_view(mcp_store_t *store, const mcp_node_view_t *view);

/* Returns 1 if it ever has: the node was a member since the zone began. */
int mcp_store_node_has_joined(mcp_store_t *store);

/* Notes that the node was refused and serves alone; "": it does not.  The other
 * one tells whether it does. */
void mcp_store_node_alone(mcp_store_t *store, const char *why);
int mcp_store_node_is_alone(mcp_store_t *store);

/* Notes how far the node has heard, or tells: {0, 0} in a new zone, or if the
 * lock cannot be taken. */
void mcp_store_node_set_place(mcp_store_t *store, mcp_node_place_e which,
    const mcp_node_place_t *place);
void mcp_store_node_place(mcp_store_t *store, mcp_node_place_e which,
    mcp_node_place_t *place);

/*
 * Reads what was noted.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  nothing was: there is no cluster
 *   MCP_ERR_INTERNAL   the lock cannot be taken
 */
int mcp_store_node_facts(mcp_store_t *store, mcp_node_facts_t *facts);


#endif /* MCP_STORE_NODE_H_INCLUDED */
