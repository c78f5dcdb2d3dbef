/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Internal declarations of a process's part in a cluster.
 *
 *   mcp_cluster.c                 the node: registers, sends heartbeats,
 *                                 changes the leader
 *   mcp_cluster_diagnosis.c       the list of members, and why the node is
 *                                 rejected
 *   mcp_cluster_link.c            one connection to Redis and its life cycle
 *   mcp_cluster_command.c         commands on a connection, and their replies
 *   mcp_cluster_run_operation.c   operations: a script for each kind; resume
 *                                 tokens that are valid once
 *   mcp_cluster_login.c           the first commands on a connection
 *   mcp_cluster_script.h          the Lua scripts that Redis runs
 *   mcp_cluster_redis_protocol.c  the Redis protocol
 *   mcp_cluster_broadcast.c       messages to all nodes, with notifications
 *   mcp_cluster_takeover.c        take-over of the streams of dead nodes
 *   mcp_cluster_replication.h     replication of streams
 *
 * docs/cluster.md explains clusters to operators.
 */


#ifndef MCP_CLUSTER_INTERNAL_H_INCLUDED
#define MCP_CLUSTER_INTERNAL_H_INCLUDED


#include "mcp_cluster.h"
#include "cluster/mcp_cluster_script.h"
#include "cluster/mcp_cluster_redis_protocol.h"
#include "store/mcp_store_own_node.h"
#include "worker/mcp_cluster_operation.h"


/*
 * Limits of a connection. A link sends no further command while MCP_LINK_WINDOW
 * commands wait for their replies, or while the output buffer for new commands
 * is full: MCP_LINK_BYTES_MAX bytes in all, or MCP_LINK_BYTES bytes without the
 * commands of replications. MCP_LINK_BYTES allows hundreds of long answers of
 * clients. It excludes the commands of replications, so that these never cause
 * the rejection of a client.
 */
#define MCP_LINK_WINDOW      4096
#define MCP_LINK_BYTES       (16 * 1024 * 1024)
#define MCP_LINK_BYTES_MAX   (64 * 1024 * 1024)

/* An output buffer larger than this is freed after it was written. */
#define MCP_LINK_BYTES_KEPT  (1024 * 1024)

/* Limits for commands of replications: pending commands, and bytes in the
 * output buffer for new commands. While either is reached, no replication sends
 * a command, because clients' commands would have to wait behind it. */
#define MCP_LINK_REPLICATIONS       512
#define MCP_LINK_REPLICATION_BYTES  (128 * 1024)

/* Limit of pending commands that replaces MCP_LINK_REPLICATIONS for a
 * replication for which a client's request waits. */
#define MCP_LINK_QUERIED     2048

/* Maximum size of a reply, bytes. */
#define MCP_LINK_REPLY_MAX   (64 * 1024 * 1024)

/* Delay between two attempts to connect, ms. */
#define MCP_LINK_DELAY_MIN   100
#define MCP_LINK_DELAY_MAX   5000

/* Maximum number of redirections in a row. */
#define MCP_LINK_REDIRECTS   5

#define MCP_LINK_HOST_MAX    255
#define MCP_LINK_REASON_MAX  320

/* Maximum length of an error with the name of the server. */
#define MCP_CLUSTER_ERROR_MAX  (MCP_LINK_HOST_MAX + MCP_LINK_REASON_MAX + 16)

/* Number of heartbeats that the leader of a node sends within the node
 * timeout. */
#define MCP_CLUSTER_HEARTBEATS  3

/* Interval after which a persisting error is logged again, ms. */
#define MCP_CLUSTER_AGAIN    60000

/* Layouts of the data in Redis that this build reads and writes. */
#define MCP_CLUSTER_LAYOUT_MIN  1
#define MCP_CLUSTER_LAYOUT_MAX  1

/* Maximum number of fingerprints in a set: of the signing keys, or of the
 * endpoints. */
#define MCP_CLUSTER_KEYS_MAX         64
#define MCP_CLUSTER_ID_LEN           16  /* hex digits of a node id */
#define MCP_CLUSTER_FINGERPRINT_LEN  16  /* hex digits of a fingerprint */

/* Maximum number of arguments of a script, and of the keys that
 * mcp_cluster_run_with_keys() adds. */
#define MCP_CLUSTER_ARGS        192
#define MCP_CLUSTER_KEYS        448

/* Number of buckets of the hash table of a process's replicated streams. */
#define MCP_CLUSTER_BUCKETS     1024

/* ACL rules that the Redis user needs in addition to the rule for its keys.
 * docs/cluster.md lists these rules too. */
#define MCP_CLUSTER_RIGHTS      "+@all -@admin -@dangerous +info +role"

/* Maximum difference between the clocks of Redis and of this node without a
 * warning in the log, ms. */
#define MCP_CLUSTER_OFFSET_MAX  2000


typedef enum {
    MCP_LINK_DOWN = 0,         /* closed until the timer expires */
    MCP_LINK_OPENING,          /* MCP_ACT_CONNECT is queued, or the glue is
                                  connecting */
    MCP_LINK_LOGIN,            /* connected, the login has not ended */
    MCP_LINK_UP,
    MCP_LINK_CLOSING           /* MCP_ACT_DISCONNECT is queued */
} mcp_link_state_e;


/* Handles the reply to a command. "reply" is NULL if the connection was lost
 * before the reply, or if the command was abandoned because Redis had lost its
 * scripts. In both cases it is unknown whether Redis has executed the
 * command. */
typedef void (*mcp_link_reply_cb)(void *data, const mcp_reply_t *reply);


typedef struct {
    mcp_link_reply_cb   handler;
    void               *data;
} mcp_link_pending_t;


/*
 * The functions by which a link reports to its cluster:
 *
 *   up        the link is established
 *   down      an established link is lost
 *   reloaded  scripts that Redis had lost were loaded again, and the commands
 *             that were pending before were abandoned
 *   replied   replies were handled, so the link may have room
 *   denied    Redis denies this node access by "error"; the caller then calls
 *             mcp_link_fail()
 *   query     sends the commands that follow AUTH and SELECT, and returns
 *             MCP_OK or MCP_AGAIN; NULL: the link checks the server and loads
 *             the scripts
 */
typedef struct {
    void  (*up)(mcp_cluster_t *cluster);
    void  (*down)(mcp_cluster_t *cluster);
    void  (*reloaded)(mcp_cluster_t *cluster);
    void  (*replied)(mcp_cluster_t *cluster);
    void  (*denied)(mcp_link_t *link, const mcp_reply_t *error);
    int   (*query)(mcp_link_t *link);
} mcp_link_handlers_t;


struct mcp_link_s {
    mcp_queued_action_t  queued;
    mcp_cluster_t       *cluster;
    const mcp_link_handlers_t  *handlers;
    void                *glue;
    mcp_link_state_e     state;        /* changed by mcp_link_set_state()
                                          only */
    mcp_timer_t          timer;        /* expires at the next attempt to connect
                                          (DOWN), at the timeout (OPENING and
                                          LOGIN), or at the next check for a
                                          silent server (UP) */

    mcp_cluster_seed_t   target;
    unsigned             seed;         /* seed % n_seeds is the index of the
                                          seed in use, or, if the link is DOWN,
                                          of the next seed */
    unsigned             attempts;     /* number of attempts to connect since
                                          the last mcp_link_settled() */
    unsigned             redirects;
    unsigned             redirected:1; /* 1 if target is not a seed but the
                                          target of a redirection */
    unsigned             at_once:1;    /* 1 if the next attempt to connect
                                          begins without a delay */
    unsigned             rests:1;      /* 1 if the link stays closed until
                                          mcp_link_start() is called */
    unsigned             at_sentinel:1; /* 1 if target is a Sentinel */
    unsigned             reloads:1;    /* 1 while lost scripts are loaded
                                          again */
    unsigned             answered:1;   /* 1 if bytes were received on this
                                          connection */
    char                 host[MCP_LINK_HOST_MAX + 1]; /* memory for target.host
                                          after a redirection */

    mcp_wire_t          *wire;
    mcp_buf_t            out[2];       /* output buffers: while one buffer is
                                          being written, new commands are
                                          appended to the other buffer */
    unsigned             writing;      /* index of the buffer that is being
                                          written */
    size_t               written;      /* number of bytes of out[writing] that
                                          were written */
    size_t               replicated;   /* number of bytes in the buffer for new
                                          commands that belong to commands of
                                          replications */

    mcp_link_pending_t   pending[MCP_LINK_WINDOW];     /* ring buffer of the
                                          commands whose replies are pending */
    unsigned             first;
    unsigned             n_pending;
    unsigned             loaded;       /* number of scripts loaded during
                                          login */
    unsigned             skips;        /* number of replies to ignore: their
                                          commands were abandoned when the
                                          scripts were lost */
    uint64_t             reloaded;     /* when lost scripts were last loaded
                                          again, ms; 0: never */

    uint64_t             received;     /* when bytes were last received, ms */
    uint64_t             pinged;       /* when a PING was sent to the silent
                                          server, or could not be sent because
                                          the link had no room, ms; 0: the
                                          server is not silent */
    unsigned             pings:1;      /* 1 while the reply to a PING is
                                          pending */
    uint64_t             round_trip;   /* time between the last PING and its
                                          reply, ms */
};


typedef struct mcp_replication_s  mcp_replication_t;
typedef struct mcp_token_update_s  mcp_token_update_t;
typedef struct mcp_replay_s      mcp_replay_t;
typedef struct mcp_cluster_notification_s  mcp_cluster_notification_t;


/* A node that this process observes, see mcp_cluster_takeover.c. */
typedef struct {
    uint64_t                   node;
    uint64_t                   count;  /* number of heartbeats of the node */
    uint64_t                   since;  /* when this process first received
                                          "count", ms */
    uint64_t                   node_timeout;   /* the node's own timeout, ms */
    unsigned                   seen;   /* number of consecutive checks at which
                                          "count" was the same */
} mcp_heartbeats_t;


/* The state of this node's registration in Redis. */
typedef enum {
    MCP_CLUSTER_APART = 0,     /* not a member: no connection, or rejected */
    MCP_CLUSTER_REGISTERING,   /* the reply of redis/register_node.lua is
                                  pending */
    MCP_CLUSTER_MEMBER
} mcp_cluster_state_e;


/* A set of fingerprints as text: the hex digits of each fingerprint, followed
 * by a comma. */
typedef struct {
    char                          text[MCP_CLUSTER_KEYS_MAX
                                       * (MCP_CLUSTER_FINGERPRINT_LEN + 1)];
    size_t                        len;        /* length of "text", bytes */
} mcp_cluster_fingerprints_t;


/* A position in a Redis stream that was later than the clock of Redis when the
 * two were last compared. The index of this struct in mcp_cluster_s.beyond is
 * the mcp_node_position_e of the Redis stream. */
typedef struct {
    mcp_cluster_t                *cluster;
    mcp_node_position_t           position;
} mcp_cluster_beyond_t;


struct mcp_cluster_s {
    mcp_worker_t                 *worker;
    const mcp_cluster_conf_t     *conf;
    mcp_link_t                    link;
    mcp_link_t                    inbound; /* connection of the leader for
                                              broadcasts, see
                                              mcp_cluster_broadcast.c */
    mcp_link_t                    probe;   /* connection by which the leader
                                              finds out to which Redis the
                                              addresses lead now, see
                                              mcp_cluster_diagnosis.c */
    char                          run[MCP_NODE_RUN_MAX + 1]; /* run id of the
                                              Redis with which this process has
                                              registered; empty: unknown */
    unsigned                      low;    /* lowest layout that this node
                                             reads */
    unsigned                      high;
    mcp_cluster_state_e           state;
    mcp_timer_t                   heartbeat;
    mcp_timer_t                   lag;    /* timer of the next report of the
                                             replication lag */
    uint64_t                      node;   /* id of this node that this process
                                             last sent to Redis */
    uint64_t                      member; /* id under which this process last
                                             joined; 0: never */
    uint64_t                      registered; /* when the last registration or
                                             heartbeat was sent, ms */
    uint64_t                      unreachable; /* when "state" ceased to be
                                                  MCP_CLUSTER_MEMBER, or when
                                                  the process started, ms */
    uint64_t                      denied; /* when the error that Redis denies
                                             this node access was last logged,
                                             ms; 0: never */
    uint64_t                      emptied; /* since when Redis has had no
                                              member, for a node that was
                                              rejected, ms; 0: it has members,
                                              or this is not known */
    int64_t                       offset;         /* clock of Redis minus the
                                                     clock of this node, ms */
    mcp_cluster_beyond_t          beyond[MCP_NODE_POSITIONS];
    unsigned                      leads:1;        /* 1 if this process is the
                                                     leader of its node */
    unsigned                      reading:1;      /* 1 while XREAD waits for new
                                                     broadcasts */
    unsigned                      heartbeat_pending:1; /* 1 while the reply to a
                                                     heartbeat is pending */
    unsigned                      reports_loss:1; /* 1 if the next registration
                                                     reports that Redis may lack
                                                     keys: after
                                                     mcp_probe_is_elsewhere()
                                                     has detected another Redis,
                                                     or after an error because
                                                     the slot of the keys was
                                                     being moved */
    unsigned                      self_check:1;   /* 1 while the reply to a
                                                     self-check is pending */
    mcp_link_reply_cb             self_checked;   /* handler of the reply to a
                                                     self-check */
    unsigned                      far:1;  /* 1 if "offset" exceeded
                                             MCP_CLUSTER_OFFSET_MAX when it was
                                             last measured */

    mcp_heartbeats_t              heartbeats[MCP_NODE_MEMBERS];
    size_t                        n_heartbeats;
    uint64_t                      own_heartbeats;    /* number of heartbeats of
                                                        this node in the last
                                                        reply to one; 0:
                                                        unknown */
    mcp_heartbeats_t              takeover;  /* the dead node whose streams are
                                                being taken over; or this node,
                                                while its leader requests the
                                                streams that were assigned to
                                                this node before; node 0: no
                                                take-over is in progress */
    unsigned                      settled:1;      /* 1 if this node has
                                                     replicated all streams of
                                                     dead nodes that were
                                                     assigned to it */
    int                           stalled;        /* error for which a stream
                                                     of a dead node could not
                                                     be taken over, and which
                                                     was logged; MCP_OK: none
                                                     since the node was last
                                                     "settled" */

    mcp_replication_t            *repls[MCP_CLUSTER_BUCKETS];
    size_t                        kept;   /* bucket of "repls" at which the
                                             next redis/keep.lua for idle
                                             streams begins */
    unsigned                      keeping:1;      /* 1 while the reply of
                                                     redis/keep.lua is
                                                     pending */
    mcp_replication_t            *waiting;        /* the send queue: list of
                                                     replications that wait for
                                                     room on the link, in order
                                                     of arrival */
    mcp_replication_t           **waiting_end;
    const mcp_replication_t      *allowed;       /* the replication that was
                                                    just removed from the list
                                                    "waiting" and may send now;
                                                    NULL: none */
    unsigned                      at_once:1;      /* 1 while
                                                     mcp_replication_flush()
                                                     sends a command of a
                                                     replication, which does not
                                                     wait for room */
    mcp_replication_t            *ack_waiters;    /* list of replications that
                                                     wait for the reply to WAIT,
                                                     see mcp_replica_ack_*() */
    mcp_replication_t           **ack_waiters_end;
    uint64_t                      ack_failed;     /* when an acknowledgement of
                                                     replicas last failed, ms */
    unsigned                      ack_pending:1;  /* 1 while a WAIT is
                                                     pending */

    mcp_token_update_t *updates; /* updates of resume tokens that Redis
                                  has not acknowledged */
    unsigned                      n_updates;
    unsigned                      updates_again:1; /* 1 while mcp_token_retry()
                                                      runs */
    mcp_cluster_notification_t   *notifications;  /* list of notifications that
                                                     Redis may lack, oldest
                                                     first */
    mcp_cluster_notification_t  **notifications_end;
    unsigned                      n_notifications;
    unsigned                      notifications_sending; /* number of
                                                            notifications
                                                            whose replies
                                                            are pending */
    mcp_timer_t                   notification_timer; /* expires when the oldest
                                                         notification is too old
                                                         to be sent */
    uint64_t                      sender;         /* random name of this
                                                     process as a sender of
                                                     notifications; 0: none
                                                     yet */
    uint64_t                      sender_seq;     /* number of notifications
                                                     sent under the name
                                                     "sender" */
    unsigned                      topics_received; /* number of received
                                                     broadcasts about topics */
    mcp_replay_t                 *replays;        /* replays of missed
                                                     broadcasts that wait
                                                     until Redis can be
                                                     queried again */

    char                          script[MCP_SCRIPTS][MCP_SCRIPT_ID_LEN];
    mcp_cluster_fingerprints_t    keys;       /* fingerprints of the signing
                                                 keys */
    mcp_cluster_fingerprints_t    endpoints;  /* fingerprints of the endpoints'
                                                 identities */
    unsigned                      apart:1;    /* 1 if the log has the warning
                                                 that another node has none of
                                                 this node's endpoints */
};


/* --- mcp_cluster.c --- */

/* Returns 1 if this process has not been a member of the cluster for
 * mcp_cluster_outage_timeout, although replication is required
 * (mcp_cluster_sync) and the node is not standalone. */
int mcp_cluster_is_unreachable(void *data);

/* Returns whether the clocks of Redis and of this node agree. The hook "clock"
 * in mcp_cluster_operation.h lists the return values. */
int mcp_cluster_clock(void *data);


/* --- mcp_cluster_diagnosis.c --- */

/* Stores the list of members in the zone, so that every process can show it in
 * the status. "reply" is {"OK", time, layout, members}, for a registration or a
 * heartbeat. */
void mcp_cluster_store_members(mcp_cluster_t *cluster,
    const mcp_reply_t *reply);

/*
 * Logs a warning if this process is the leader and the cluster has another node
 * that has endpoints, but none in common with this node. A process logs this
 * warning once. "other" is the fifth element of a reply of
 * redis/register_node.lua: the id and the label of that node, or no array if
 * there is none.
 */
void mcp_cluster_check_endpoints(mcp_cluster_t *cluster,
    const mcp_reply_t *other);

/* Records the run id of the Redis with which this process has just registered:
 * the sixth element of a reply of redis/register_node.lua. */
void mcp_cluster_set_run(mcp_cluster_t *cluster, const mcp_reply_t *run);

/* Returns 1 if this build reads "layout", the layout of the data in Redis.
 * Otherwise logs the reason, makes the node serve alone, and returns 0. */
int mcp_cluster_reads(mcp_cluster_t *cluster, const mcp_reply_t *layout);

/*
 * Handles an error by which Redis denies this node access; the caller then
 * reports it by mcp_link_fail(). If the error is from cluster->link and the
 * node has never joined, the node serves alone until Redis accepts it. If the
 * node has joined, its streams wait for Redis. Once in MCP_CLUSTER_AGAIN ms,
 * the caller's report is logged at level error even if another error was logged
 * just before.
 */
void mcp_cluster_denied(mcp_link_t *link, const mcp_reply_t *error);

/* Returns 1 if the reply of redis/register_node.lua rejects the node, after
 * handling the rejection. Returns 0 for any other reply. */
int mcp_cluster_refused(mcp_cluster_t *cluster, const mcp_reply_t *reply);

extern const mcp_link_handlers_t  mcp_probe_handlers;

/* Opens the connection of the probe if this process is the leader of its node,
 * otherwise closes the connection. */
void mcp_probe_set(mcp_cluster_t *cluster);

/* Returns 1 if this process has registered with a Redis other than the one to
 * which the addresses lead now. */
int mcp_probe_is_elsewhere(mcp_cluster_t *cluster);


/* --- mcp_cluster_replication.c --- */

/* Initializes the timer that measures the replication lag, and resets the lag
 * of this process in the status. */
void mcp_lag_init(mcp_cluster_t *cluster);


/* --- mcp_cluster_takeover.c --- */

/* Checks the members in the reply to a heartbeat for dead nodes, and continues
 * to take over the streams that were assigned to this node. */
void mcp_takeover_check_members(mcp_cluster_t *cluster,
    const mcp_reply_t *members);

/* Discards the observations of other nodes, because the link was lost, Redis
 * has lost keys, or another process became the leader. */
void mcp_takeover_forget_members(mcp_cluster_t *cluster);


/* --- mcp_cluster_link.c --- */

void mcp_link_init(mcp_link_t *link, mcp_cluster_t *cluster,
    const mcp_link_handlers_t *handlers);
void mcp_link_free(mcp_link_t *link);

/* mcp_link_start() opens the link if it is closed and no attempt to open it is
 * scheduled. mcp_link_stop() closes the link until mcp_link_start() is called
 * again. */
void mcp_link_start(mcp_link_t *link);
void mcp_link_stop(mcp_link_t *link);

/* Ends the login successfully: the link is up. Calls the handler "up", or the
 * handler "reloaded" if lost scripts were loaded again. */
void mcp_link_logged_in(mcp_link_t *link);

/*
 * Loads the scripts again on the open connection, because Redis has lost them.
 * Abandons all pending commands: their handlers get NULL and send the commands
 * again if necessary. Returns 1; or 0 if the link is not established, or if
 * lost scripts were loaded less than mcp_cluster_timeout ago: the caller must
 * then close the link.
 */
int mcp_link_reload(mcp_link_t *link);

/* Resets the delays between attempts to connect, because the server works. */
void mcp_link_settled(mcp_link_t *link);

/* These functions close the link and open it again: mcp_link_fail() after a
 * delay, mcp_link_redirect() at once at another server. The handlers of pending
 * commands get NULL. */
void mcp_link_fail(mcp_link_t *link, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void mcp_link_redirect(mcp_link_t *link, mcp_str_t host, mcp_str_t port);

/* Writes the name of the link's target for log lines, "HOST:PORT" or the path
 * of a socket, and a NUL. */
#define MCP_LINK_NAME_MAX  (MCP_LINK_HOST_MAX + 8)

void mcp_link_name(const mcp_link_t *link, char name[MCP_LINK_NAME_MAX]);


/* Queues an action of the link for the glue. */
void mcp_link_queue(mcp_link_t *link, mcp_action_e type);


/* --- mcp_cluster_command.c --- */

/* Passes an error to the status page and to the log. The log level is error if
 * no process of the node has logged an error at this level in the last
 * MCP_CLUSTER_AGAIN ms, otherwise info. */
void mcp_cluster_error(mcp_cluster_t *cluster, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Counts and logs an unexpected reply: an error, or a reply that the script or
 * Redis command with the name "script" never sends. */
void mcp_cluster_unexpected_reply(mcp_cluster_t *cluster, const char *script,
    const mcp_reply_t *reply);

/*
 * Sends a command of n words. The handler is called once, after this function
 * has returned.
 *
 * Returns MCP_OK, or, without calling the handler,
 *   MCP_AGAIN  the link is not established, a limit of pending commands or
 *              bytes is reached, or there is no memory
 */
int mcp_link_send(mcp_link_t *link, const mcp_str_t *argv, size_t n,
    mcp_link_reply_cb handler, void *data);

/* Returns 1 if a replication may send a command, because the link has reached
 * neither MCP_LINK_REPLICATIONS nor MCP_LINK_REPLICATION_BYTES. */
int mcp_link_has_room(const mcp_link_t *link);

/* Returns the number of bytes in the output buffer for new commands. */
size_t mcp_link_bytes(const mcp_link_t *link);

/* Counts a command that was just appended to the output buffer as one of a
 * replication. "before" is the value of mcp_link_bytes() before the command was
 * appended. */
void mcp_link_replicated(mcp_link_t *link, size_t before);

/* Returns 1 if the connection is established, even during the login. */
int mcp_link_is_open(const mcp_link_t *link);

/* Sends a command during the login, like mcp_link_send(). The handler gets the
 * link as its data. */
int mcp_link_login(mcp_link_t *link, const mcp_str_t *argv, size_t n,
    mcp_link_reply_cb handler);

/* Sends all scripts to Redis for loading. After the last reply
 * mcp_link_logged_in() is called. */
void mcp_link_send_scripts(mcp_link_t *link);

/* Passes a reply to the handler of the oldest pending command, unless the
 * command was abandoned or the reply is an error that concerns the whole
 * link. */
void mcp_link_reply(mcp_link_t *link, const mcp_reply_t *reply);

/* mcp_cluster_id() writes the id of this node as text with a NUL,
 * mcp_cluster_node_id() the id "node" of any node. */
void mcp_cluster_id(const mcp_cluster_t *cluster,
    char id[MCP_CLUSTER_ID_LEN + 1]);
void mcp_cluster_node_id(uint64_t node, char id[MCP_CLUSTER_ID_LEN + 1]);

/* Parses a node id; returns 0 if the text is not one. */
uint64_t mcp_cluster_read_id(mcp_str_t text);

/* The arguments of a script, at most MCP_SCRIPT_ARGS. The functions below write
 * characters, numbers and stream ids into "text", whose MCP_SCRIPT_ARGS_TEXT
 * bytes are enough for every script. Texts and digests are not copied: they
 * must remain valid until the script is sent. */
#define MCP_SCRIPT_ARGS       10
#define MCP_SCRIPT_ARGS_TEXT  128

typedef struct {
    mcp_str_t  args[MCP_SCRIPT_ARGS];
    size_t     n;
    char       text[MCP_SCRIPT_ARGS_TEXT];
    size_t     len;
} mcp_script_args_t;

#define mcp_args_init(args)  ((args)->n = 0, (args)->len = 0)

/* These functions append one argument each. mcp_args_digest_if() appends an
 * empty text if "matters" is 0. mcp_args_flag() appends "1", or an empty text
 * if "flag" is 0. */
void mcp_args_text(mcp_script_args_t *args, mcp_str_t text);
void mcp_args_char(mcp_script_args_t *args, char c);
void mcp_args_number(mcp_script_args_t *args, uint64_t number);
void mcp_args_stream(mcp_script_args_t *args,
    const unsigned char id[MCP_STREAM_ID_LEN]);
void mcp_args_digest(mcp_script_args_t *args,
    const unsigned char digest[MCP_DIGEST_LEN]);
void mcp_args_digest_if(mcp_script_args_t *args,
    const unsigned char digest[MCP_DIGEST_LEN], int matters);
void mcp_args_flag(mcp_script_args_t *args, int flag);

/* Runs a script. Its arguments are this node's id, the node timeout, and the n
 * arguments in args, at most MCP_CLUSTER_ARGS. The names of its keys follow
 * from these arguments. Returns the values of mcp_link_send(). */
int mcp_cluster_run(mcp_cluster_t *cluster, mcp_script_e script,
    const mcp_str_t *args, size_t n, mcp_link_reply_cb handler, void *data);

/* Runs a script like mcp_cluster_run(). After the script's usual keys it gets
 * the n_keys keys in "keys", at most MCP_CLUSTER_KEYS. */
int mcp_cluster_run_with_keys(mcp_cluster_t *cluster, mcp_script_e script,
    const mcp_str_t *keys, size_t n_keys, const mcp_str_t *args, size_t n,
    mcp_link_reply_cb handler, void *data);

/* Handles a reply that suggests that this node was declared dead: sends a
 * heartbeat at once to find out, if this process is a member and no self-check
 * is pending. */
void mcp_cluster_self_check(mcp_cluster_t *cluster);

/* Kinds of keys. Their contents are described in docs/internals/cluster.md and
 * in redis/common_members.lua and redis/common_streams.lua. */
typedef enum {
    MCP_KEY_NODES = 0,         /* keys that exist once in a cluster */
    MCP_KEY_SINCE,
    MCP_KEY_RUN,
    MCP_KEY_LAYOUT,
    MCP_KEY_LASTING_BROADCASTS,
    MCP_KEY_BROADCASTS,
    MCP_KEY_NODE,              /* keys of a node */
    MCP_KEY_MARK,
    MCP_KEY_QUEUE,
    MCP_KEY_OWNED,
    MCP_KEY_ASSIGNED,
    MCP_KEY_HEAD,              /* keys of a stream */
    MCP_KEY_LOG,
    MCP_KEY_SPEC,
    MCP_KEY_TOPICS,
    MCP_KEY_LISTENERS,
    MCP_KEY_JOINED,
    MCP_KEY_STREAMS,           /* keys of a session */
    MCP_KEY_CALLS,
    MCP_KEY_CROWDED,
    MCP_KEY_CLAIM,             /* key for the digest of equal calls */
    MCP_KEY_TOKEN,             /* key for the digest of a resume token */
    MCP_KEY_UPSTREAM_SESSION,  /* key of a session at an MCP server */
    MCP_KEY_PROCESS,           /* key of a process that sends notifications */
    MCP_KEYS
} mcp_key_e;

/* Maximum length of a key: a prefix of 66 bytes, ":1:", and a kind with the id
 * of a stream. */
#define MCP_CLUSTER_KEY_MAX  96

/* Maximum number of keys of a script, without those that
 * mcp_cluster_run_with_keys() adds. */
#define MCP_SCRIPT_KEYS      17

typedef struct {
    mcp_str_t  keys[MCP_SCRIPT_KEYS];
    char       text[MCP_SCRIPT_KEYS][MCP_CLUSTER_KEY_MAX];
} mcp_script_keys_t;

/* These functions write the name of a key and return it. "of" is the text of an
 * id or digest, or empty if there is only one key of this kind; "id" is the id
 * of a stream. */
mcp_str_t mcp_cluster_key(const mcp_cluster_t *cluster, mcp_key_e kind,
    mcp_str_t of, char key[MCP_CLUSTER_KEY_MAX]);
mcp_str_t mcp_cluster_stream_key(const mcp_cluster_t *cluster, mcp_key_e kind,
    const unsigned char id[MCP_STREAM_ID_LEN], char key[MCP_CLUSTER_KEY_MAX]);

/* Writes the keys of a script, and returns their number. args are the n
 * arguments of mcp_cluster_run(), which contain the ids and digests in the
 * names of the keys. If the id or digest of a key is missing from args, omits
 * this key and all later ones. */
size_t mcp_script_keys_of(const mcp_cluster_t *cluster, mcp_script_e script,
    const mcp_str_t *args, size_t n, mcp_script_keys_t *keys);


/* --- mcp_cluster_run_operation.c --- */

/* Starts an operation, see the hook "start" in mcp_cluster_operation.h. */
int mcp_cluster_start(void *data, const mcp_operation_spec_t *spec,
    mcp_operation_t *op);

/* Appends the arguments of an operation's script. */
typedef void mcp_encode_fn(mcp_cluster_t *cluster,
    const mcp_operation_spec_t *spec, mcp_script_args_t *args);

mcp_encode_fn  mcp_broadcast_encode;
mcp_encode_fn  mcp_cluster_join_encode;
mcp_encode_fn  mcp_remote_resume_encode;
mcp_encode_fn  mcp_topic_encode;

/* Reads the reply of an operation's script. "rc" is the result that belongs
 * to the first word of the reply. Returns the result of the operation, or
 * MCP_ERR_SYNTAX if the script never sends this reply. */
typedef int mcp_decode_fn(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc);

mcp_decode_fn  mcp_cluster_join_decode;
mcp_decode_fn  mcp_remote_resume_decode;


/* --- mcp_cluster_broadcast.c --- */

/* mcp_broadcast_read() parses the fields of an entry of a Redis stream with
 * broadcasts. mcp_broadcast_position() parses the id of an entry, "ms-n". Both
 * return 1, or 0 if the text is invalid. */
int mcp_broadcast_read(mcp_cluster_t *cluster, const mcp_reply_t *fields,
    mcp_broadcast_t *broadcast);
int mcp_broadcast_position(mcp_str_t text, mcp_node_position_t *position);

/* Writes the key of a Redis stream and returns it. "which" selects one of the
 * streams of broadcasts, or this node's queue. */
mcp_str_t mcp_broadcast_key(const mcp_cluster_t *cluster,
    mcp_node_position_e which, char key[MCP_CLUSTER_KEY_MAX]);

/* Starts to receive broadcasts if this process is the leader of its node, or
 * stops if it is not. */
void mcp_cluster_listen(mcp_cluster_t *cluster);

/* Handlers of the connection for broadcasts. mcp_broadcast_listen() sends XREAD
 * if this node is a member, this process is its leader, and no XREAD is
 * pending. XREAD waits for new broadcasts and entries of the node queue. */
void mcp_broadcast_listen(mcp_cluster_t *cluster);
void mcp_broadcast_down(mcp_cluster_t *cluster);

/* Queries Redis about each Redis stream whose position is later than "now",
 * the clock of Redis. A Redis stream that does not exist, or whose last id is
 * below the position, has begun anew, so it is read from its beginning. */
void mcp_position_check(mcp_cluster_t *cluster, uint64_t now);

void mcp_cluster_notification_init(mcp_cluster_t *cluster);

/* Queues a notification for sending to all nodes, including this node. Returns
 * MCP_AGAIN if the notification was queued: this node then receives the
 * broadcast, or delivers the notification locally, at the latest when the
 * notification expires. Returns MCP_ERR_UNREACHABLE if the notification cannot
 * be queued. */
int mcp_cluster_notification_broadcast(mcp_cluster_t *cluster,
    const mcp_broadcast_t *broadcast);

/* Sends again the notifications that Redis may lack. */
void mcp_cluster_notification_resend(mcp_cluster_t *cluster);

/* Called when the process ends. Delivers locally all notifications that Redis
 * has not acknowledged, and frees them. Whether other nodes receive them is
 * unknown. */
void mcp_cluster_notification_free_all(mcp_cluster_t *cluster);


/* --- mcp_cluster_login.c --- */

/* Runs the login on a connection, which ends with mcp_link_logged_in(),
 * mcp_link_fail() or mcp_link_redirect(). */
void mcp_link_register(mcp_link_t *link);

/* Returns 1 if a text begins with "words". */
int mcp_login_begins(mcp_str_t text, const char *words);

/* Returns 1 if an error means that the server rejects this node's credentials
 * or rights. */
int mcp_login_denies(mcp_str_t error);

/* Handles the error of a command by which the server rejects this node's
 * credentials or rights: calls the handler "denied", and fails the link with a
 * log line that contains the error and, if the error is NOPERM, the ACL rules
 * that the Redis user needs. */
void mcp_login_barred(mcp_link_t *link, const char *command,
    const mcp_reply_t *error);

/* Returns 1 if the text of an error contains the text "words". */
int mcp_login_mentions(mcp_str_t error, const char *words);


#endif /* MCP_CLUSTER_INTERNAL_H_INCLUDED */
