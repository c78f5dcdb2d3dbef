/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Replication of streams between the nodes of a cluster.
 *
 * The owner's node has the stream itself; its replicator appends new events to
 * Redis. A node with a reader of that stream has a mirror of it. The mirror is
 * fed from the queue of its node, to which redis/append.lua and
 * redis/append_events.lua add new events, and by fetching events that the
 * queue did not bring. Entries of a node queue may be lost, so the owner's node
 * and the reader's node also report their states to Redis from time to time.
 * The replies to the owner's node contain the reader and its position, and the
 * replies to the reader's node contain the owner's state.
 *
 *   mcp_cluster_replication.c    a process's replicated streams and mirrors,
 *                                the send queue and the replication lag
 *   mcp_cluster_append.c         the replicator, and renewal of idle streams
 *   mcp_cluster_append_reply.c   the replies to its commands
 *   mcp_cluster_mirror.c         feeding a mirror
 *   mcp_cluster_join_calls.c     joining a call at another node
 *   mcp_cluster_remote_resume.c  resuming a stream of another node
 *   mcp_cluster_session_topic.c  topics of a session's own stream
 *   mcp_cluster_node_queue.c     entries of this node's queue
 *   mcp_cluster_codec.c          text forms of values in Redis
 */


#ifndef MCP_CLUSTER_REPLICATION_H_INCLUDED
#define MCP_CLUSTER_REPLICATION_H_INCLUDED


#include "cluster/mcp_cluster_internal.h"
#include "http/mcp_sse.h"
#include "store/mcp_store_own_node.h"
#include "store/mcp_store_replication.h"


/* Limits of one command of a replicator: number of events, and number of their
 * bytes. If the first event is longer, the command contains only this event.
 * MCP_REPLICATION_BYTES_ONE is the initial size of the buffer for the events if
 * only one event is new. */
#define MCP_REPLICATION_EVENTS     64
#define MCP_REPLICATION_BYTES      65536
#define MCP_REPLICATION_BYTES_ONE  2048

/* A reader's node reports the reader's position to Redis after this many
 * events, or after this many ms. */
#define MCP_REPLICATION_SEND_EVENTS  64
#define MCP_REPLICATION_SEND_TIME  200

/* Index of the first event in a reply of redis/resume.lua. */
#define MCP_REMOTE_RESUME_EVENTS  13

/* Delay before a failed operation is tried again, ms. */
#define MCP_REPLICATION_LATER  200

/* After this number of consecutive replies that Redis does not have the stream
 * of a mirror, the mirror is freed, because the stream no longer exists. */
#define MCP_REPLICATION_MISSES  3


/* State of the pending command of a replication. From MCP_REPLICATION_SENT on,
 * the command was sent to Redis. */
typedef enum {
    MCP_REPLICATION_IDLE = 0,      /* no command is pending; the timer, a change
                                      of the stream or a new link causes the
                                      next check */
    MCP_REPLICATION_SEND_QUEUE,    /* the command waits in the send queue until
                                       the link has room */
    MCP_REPLICATION_FORGET,        /* the stream was freed, and Redis has to
                                      remove it before another stream gets its
                                      id */
    MCP_REPLICATION_SENT,          /* the reply of Redis is pending */
    MCP_REPLICATION_WAIT_REPLICAS, /* Redis has replied; the acknowledgement of
                                      its replicas is pending */
    MCP_REPLICATION_DISCARD        /* the reply is pending, and after the reply
                                      Redis has to remove the stream, because it
                                      was freed */
} mcp_replication_phase_e;


/* The state of a mirror that this process feeds. From MCP_MIRROR_TAKE_OVER on,
 * the owner's node is dead, and this node takes the stream over. */
typedef enum {
    MCP_MIRROR_NONE = 0,   /* no mirror: this node has the stream itself */
    MCP_MIRROR_FETCH,      /* the process fetches the events that the node queue
                             did not bring */
    MCP_MIRROR_PAUSED,     /* the process fetches no events until the next
                              change or timer, because the mirror accepts none
                              or Redis has no more */
    MCP_MIRROR_TAKE_OVER,  /* the process fetches all events, and then makes the
                              mirror a stream of this node */
    MCP_MIRROR_NO_ROOM,    /* the next event waits for room in the zone */
    MCP_MIRROR_NO_EVENTS,  /* Redis has no more events */
    MCP_MIRROR_TOPICS,     /* the mirror has all topics of the listener */
    MCP_MIRROR_LOST        /* events are missing permanently, and Redis has to
                              remove the stream */
} mcp_mirror_state_e;


/* The replication of one stream by this process, which copies the stream to
 * Redis or feeds the stream's mirror. A replication has at most one pending
 * command, except for the XRANGE commands of mcp_cluster_mirror.c, of which it
 * may have several. */
struct mcp_replication_s {
    mcp_replication_t      *next;         /* next replication in the same
                                             bucket */
    mcp_replication_t      *waits_next;   /* next replication that waits for
                                             room on the link */
    mcp_replication_t     **waits;        /* address of the pointer to this
                                             replication in the list of
                                             "waits_next", if the phase is
                                             SEND_QUEUE */
    mcp_replication_t      *ack_next;          /* next replication that waits
                                                  for the reply to WAIT */
    mcp_cluster_t          *cluster;
    mcp_stream_ref_t        ref;
    mcp_replication_phase_e  phase;       /* changed by
                                             mcp_replication_set_phase() only */
    mcp_mirror_state_e      mirror;       /* changed by mcp_mirror_set_state()
                                             only */
    mcp_timer_t             timer;        /* expires when the next check is
                                             due */
    uint64_t                time;         /* when the last command was sent, ms;
                                             0: never, or the next command must
                                             be sent without delay */
    uint64_t                number;       /* number of the reader at this node;
                                             0: none */
    uint64_t                sent;         /* last event that was sent to the
                                             reader, as last reported to
                                             Redis */
    uint64_t                left;         /* last event that was sent to the
                                             reader of a mirror that was freed
                                             and of which Redis has not been
                                             informed; 0: no such mirror */
    uint64_t                fetched;      /* number of the event after which the
                                             last redis/resume.lua began to
                                             fetch */
    uint64_t                requested;    /* last event requested by XRANGE */
    uint64_t                upto;         /* number of the stream's last event
                                             in the last reply of
                                             redis/resume.lua: XRANGE does not
                                             fetch beyond this event */
    uint32_t                batch;        /* maximum number of events of one
                                             XRANGE; 0: XRANGE is not used */
    uint32_t                pending;      /* number of pending replies to
                                             XRANGE */
    uint64_t                missed;       /* since when Redis has had no reader,
                                             although the owner has a remote
                                             consumer, ms; 0: there is no such
                                             difference */
    uint64_t                input_missed; /* since when neither this node nor
                                             its queue has had client input that
                                             Redis has accepted, ms; 0: no input
                                             is missing */
    uint64_t                displaced;    /* since when a key of the stream in
                                             Redis has had a wrong type, ms; 0:
                                             no key has a wrong type */
    uint64_t                cramped;      /* since when the zone has had no room
                                             for the events of a dead node's
                                             stream, ms; 0: it has room */
    mcp_store_checkpoint_t  at;           /* state of the stream that was last
                                             sent to Redis */
    mcp_node_position_t     received;     /* for a dead node's stream: position
                                             up to which the dead node had
                                             received broadcasts */
    unsigned topics_received;             /* value of cluster->topics_received
                                             when the topics were requested */
    uint64_t                behind;       /* since when Redis has lacked an
                                             event of the local stream, ms; 0:
                                             Redis has all events */
    uint64_t                acked;        /* last event that Redis had
                                             acknowledged at the last
                                             mcp_lag_check() */
    uint64_t                reached;      /* highest number of an event that
                                             was sent to Redis, acknowledged or
                                             not */
    uint64_t                max_wait;     /* max_wait of the replicated stream,
                                             ms */
    unsigned char           session[MCP_DIGEST_LEN];  /* session of the
                                             replicated stream */
    uint64_t                whole;        /* when the complete state was last
                                             sent, ms; 0: never */
    uint64_t                expires;      /* this field and the next four:
                                             expires, given, taken, first_seq
                                             and confirmed_seq of the stream
                                             when the complete state was last
                                             sent */
    uint32_t                given;
    uint64_t                taken;
    uint64_t                floor;
    uint64_t                confirmed;
    size_t                  longest;      /* size of the longest event in Redis,
                                             bytes */
    uint32_t                limit;        /* maximum number of calls of the
                                             stream's session; 0: no limit */
    char                    joined;       /* value of mcp_cluster_join_how()
                                             that was last sent to Redis */
    unsigned                coalesced:1;  /* 1 if Redis has recorded that
                                             requests at this node have joined
                                             the call */
    uint64_t                node;         /* id that this node had when Redis
                                             last acknowledged the stream; 0:
                                             never */
    unsigned                claims:1;     /* 1 if this process has sent Redis
                                             the claim that the stream's call is
                                             the first of equal calls, and no
                                             reply has granted or denied the
                                             claim yet */
    unsigned                announced:1;  /* 1 if this process has sent the
                                             stream to Redis, which may have
                                             stored it */
    unsigned                over:1;       /* 1 if the stream was over when its
                                             complete state was last sent,
                                             whether or not Redis has replied */
    unsigned                stays:1;      /* 1 if the keys in Redis were
                                             made to last beyond the
                                             stream's time of expiry,
                                             because it has a reader */
    unsigned                lacks:1;      /* 1 if Redis has lost events and
                                             lacked some after the complete
                                             state was last sent */
    unsigned                specified:1;  /* 1 if max_wait and session were
                                             read from the store */
    unsigned                begin:1;      /* 1 if the next command has to create
                                             the stream in Redis, or to create
                                             it anew */
    unsigned                refills:1;    /* 1 if Redis has lost events: "at" is
                                             the last event that Redis still
                                             has */
    unsigned                replays:1;    /* 1 if "received" is valid */
    unsigned                reports_state:1; /* 1 if the pending command
                                                contains no event, and answers
                                                another node's query for the
                                                stream's state */
    unsigned                misses:2;     /* number of consecutive replies that
                                             Redis does not have the mirror's
                                             stream */
    mcp_operation_t        *ops;          /* operations that wait until Redis
                                             has the stream, or one of its
                                             events */
};


/* --- mcp_cluster_replication.c --- */

/* Returns the replication of a stream; creates it if there is none. Returns
 * NULL when out of memory. */
mcp_replication_t *mcp_replication_get(mcp_cluster_t *cluster,
    const mcp_stream_ref_t *ref);

/* Changes the phase of a replication, and logs the change at level debug. */
void mcp_replication_set_phase(mcp_replication_t *repl,
    mcp_replication_phase_e phase);

/* Logs a change of one of a replication's states at level debug. */
void mcp_replication_log_change(const mcp_replication_t *repl,
    const char *state, const char *now, const char *before);

/* Checks a stream: sends the next command to Redis if one is due and none is
 * pending. May free "repl", which must not be used afterwards. */
void mcp_replication_check(mcp_replication_t *repl);

/* Schedules the next check within "ms" milliseconds. */
void mcp_replication_within(mcp_replication_t *repl, uint64_t ms);

/* Returns 1 and sets *info if this node has the stream itself, not a mirror. */
int mcp_replication_has(const mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info);

/* Sends the pending changes of a stream that this node has itself, without
 * waiting for room on the link, so that Redis gets them before later commands.
 * Has no effect while a command for the stream is pending. */
void mcp_replication_flush(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/*
 * Runs a script with the stream's id and n arguments, at most 2 *
 * MCP_REPLICATION_EVENTS + 20. The handler gets "repl" as data and must call
 * mcp_replication_returned().
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN  the script cannot be sent now: the stream is checked again later
 */
int mcp_replication_run(mcp_replication_t *repl, mcp_script_e script,
    const mcp_str_t *args, size_t n, mcp_link_reply_cb handler);
void mcp_replication_returned(mcp_replication_t *repl);

/*
 * mcp_replication_acknowledged() removes and returns the operations that wait
 * for an event up to "seq", which Redis has now. mcp_replication_complete()
 * completes these operations with "rc". The caller must not use "repl"
 * afterwards, because an answered request continues at once and may free
 * "repl".
 */
mcp_operation_t *mcp_replication_acknowledged(mcp_replication_t *repl,
    uint64_t seq);
void mcp_replication_complete(mcp_operation_t *ops, int rc);

/* Starts all replications again after the process has joined on a new link, or
 * after lost scripts were loaded again, because Redis may lack the commands
 * sent before. */
void mcp_replication_link_up(mcp_cluster_t *cluster);

/* Ends the replication of all streams, because the node was rejected and
 * serves alone: readers see all events, and nothing waits for Redis any
 * more. */
void mcp_replication_standalone(mcp_cluster_t *cluster);

/* The hooks "replicate", "await_replication" and "changed" of
 * mcp_cluster_operation.h. */
void mcp_cluster_replicate(void *data, const mcp_stream_ref_t *ref,
    uint32_t limit);
int mcp_cluster_await_replication(void *data, const mcp_stream_ref_t *ref,
    mcp_operation_t *op);
void mcp_replication_changed(void *data, const mcp_stream_ref_t *ref,
    uint64_t sent);

/* Returns 1 if a command may be sent for this stream now. Returns 0 if the
 * stream has to wait; the stream is then checked again when a command may be
 * sent. */
int mcp_replication_may_send(mcp_replication_t *repl);

/* Checks the waiting streams for which the link has room, after replies were
 * received. */
void mcp_replication_continue(mcp_cluster_t *cluster);

/* Updates the replication lag of a stream, and starts reporting it to the
 * status if Redis lacks events. */
void mcp_lag_check(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state);

/* Frees all replications; to be called after the links are freed. */
void mcp_replication_free_all(mcp_cluster_t *cluster);


/* --- mcp_cluster_append.c, mcp_cluster_append_reply.c --- */

/* Sends the next command for a stream that this process replicates, or
 * schedules the next check if no command is due. */
void mcp_replicator_check(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state);

/* Handles the reply for one stream from redis/append.lua,
 * redis/append_events.lua or redis/keep.lua. "data" is the replication. "reply"
 * is NULL if the link was lost before the reply, or if the whole command
 * redis/keep.lua has failed. */
void mcp_replicator_done(void *data, const mcp_reply_t *reply);

/* Sends WAIT to Redis, if acknowledgements of its replicas are configured,
 * no WAIT is pending, and none has failed in the last MCP_REPLICATION_LATER
 * ms. */
void mcp_replica_ack_wait(mcp_cluster_t *cluster);

/* Renews the keys of all idle streams of this process. */
void mcp_keep_all(mcp_cluster_t *cluster);


/* --- mcp_cluster_mirror.c --- */

/* Sends the next command for a mirror, or schedules the next check if no
 * command is due. Completes the take-over of a dead node's stream. */
void mcp_mirror_check(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state);

/* Changes the state of a mirror, and logs the change at level debug. */
void mcp_mirror_set_state(mcp_replication_t *repl, mcp_mirror_state_e state);

/* Pauses or continues fetching after a fetch of events. "rc" is the value that
 * mcp_mirror_feed() returned for these events, and "has_none" is 1 if Redis
 * returned no event. */
void mcp_mirror_note_fetch(mcp_replication_t *repl, int rc, int has_none);

/* Continues the fetching of events if it was paused. */
void mcp_mirror_continue(mcp_replication_t *repl);

/* Adds one event to a mirror. Returns the values of mcp_mirror_feed(). */
int mcp_mirror_event(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t seq, mcp_str_t message,
    mcp_str_t answers);

/* Stores the state of the owner's stream in the mirror: the number of its last
 * event, its state in the form of mcp_codec_decode_state(), the last event that
 * the reader has confirmed, and the last client input that the owner has
 * processed. A malformed state is ignored. */
void mcp_mirror_known(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t seq, mcp_str_t state,
    uint64_t confirmed, uint64_t input);

/* Adds the events in a reply to a mirror. They begin with item "i" of the
 * reply, and the first event has the number "seq". Returns MCP_ERR_SYNTAX if an
 * event is invalid, otherwise the values of mcp_store_mirror_append(), but
 * MCP_OK instead of MCP_DONE. */
int mcp_mirror_feed(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_reply_t *reply,
    size_t i, uint64_t seq);

/* Sets repl->upto and repl->batch, the limits of the next XRANGE commands, from
 * a reply of redis/resume.lua. */
void mcp_bulk_fetch_note(mcp_replication_t *repl, const mcp_reply_t *reply);

/* Reports to Redis how far a freed mirror has been read, and that its reader
 * has left, unless Redis was informed before. Returns MCP_OK if there is
 * nothing to report, otherwise the values of mcp_link_send(). */
int mcp_mirror_report_freed(mcp_replication_t *repl);

/* Counts a reply that Redis does not have the stream of a mirror. Frees the
 * mirror after MCP_REPLICATION_MISSES consecutive replies of this kind. */
void mcp_mirror_missed(mcp_replication_t *repl);


/* --- mcp_cluster_remote_resume.c --- */

/* Raises the generation of the local stream or mirror to "generation". Does
 * nothing if the generation is higher already. */
void mcp_cluster_generation(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], uint32_t generation);


/* --- mcp_cluster_session_topic.c --- */

/* Requests the topics of a dead node's listener whose mirror is at this node,
 * and sets the state MCP_MIRROR_TOPICS when they are complete. Changes of
 * topics after the request reach the mirror by broadcasts, so none is
 * missed. */
void mcp_topic_fetch(mcp_replication_t *repl);

/* Delivers to a listener that this node has taken over the notifications that
 * were broadcast while the listener had no owner, up to the last broadcast that
 * this node has received. */
void mcp_topic_replay(mcp_replication_t *repl);

/* Continues the replays of missed broadcasts that stopped because an XRANGE
 * could not be sent or got no reply. */
void mcp_topic_again(mcp_cluster_t *cluster);

/* Frees the replays that mcp_topic_again() would continue. */
void mcp_topic_free_all(mcp_cluster_t *cluster);


/* --- mcp_cluster_run_operation.c --- */

/* Sends again those updates of resume tokens that Redis has not
 * acknowledged. */
void mcp_token_retry(mcp_cluster_t *cluster);

/* Frees the updates of resume tokens that Redis has not acknowledged. These
 * updates are lost. */
void mcp_token_free_all(mcp_cluster_t *cluster);


/* --- mcp_cluster_node_queue.c --- */

/* Processes an entry of this node's queue: {field, value, ...}. */
void mcp_cluster_node_queue(mcp_cluster_t *cluster, const mcp_reply_t *fields);


/* --- mcp_cluster_codec.c --- */

/* Maximum lengths of the texts that the functions below write, bytes. */
#define MCP_CODEC_STATE_MAX  88
#define MCP_CODEC_ANSWERS_MAX 24
#define MCP_CODEC_TASK_MAX   84

/* The task fields of a stream, as in mcp_store_replication_state_t. "expires"
 * is 0 if the stream is not a task. */
typedef struct {
    uint64_t  expires;
    uint64_t  kept;
    uint64_t  changed;
    uint32_t  given;
} mcp_codec_task_t;

/* Write the values of the fields "x" (state), "r" (answers of an event) and
 * "v" (task) of redis/common_streams.lua to p, and return their end. */
char *mcp_codec_encode_state(char *p, const mcp_store_checkpoint_t *checkpoint);
char *mcp_codec_encode_answers(char *p, const mcp_store_raw_t *raw);
char *mcp_codec_encode_task(char *p, const mcp_codec_task_t *task);

/*
 * Parse the values that mcp_codec_encode_state(), _answers() and _task()
 * write.
 *
 * Return MCP_OK, or
 *   MCP_ERR_SYNTAX  the text does not have that form
 */
int mcp_codec_decode_state(mcp_str_t text, mcp_store_checkpoint_t *checkpoint);
int mcp_codec_decode_answers(mcp_str_t text, mcp_store_raw_t *raw);
int mcp_codec_decode_task(mcp_str_t text, mcp_codec_task_t *task);

/* Fills *out with the state of the owner's stream, for the requests that have
 * joined its mirror at this node. "joined" is ARGV[21] of redis/append.lua, and
 * "sent" the last event that was sent to a reader. */
void mcp_codec_decode_joined(mcp_str_t joined, uint64_t sent,
    const mcp_codec_task_t *task, mcp_store_joined_t *out);

/* mcp_codec_encode_spec() appends the constant values of a stream to buf.
 * mcp_codec_decode_spec() parses them into a spec whose strings point into
 * "text", and returns MCP_OK or MCP_ERR_SYNTAX. */
void mcp_codec_encode_spec(mcp_buf_t *buf, const mcp_stream_spec_t *spec);
int mcp_codec_decode_spec(const mcp_mem_t *mem, mcp_str_t text,
    mcp_stream_spec_t *spec);

/* Returns 1 if a text can be an event: JSON without a line end. */
int mcp_codec_is_message(const mcp_mem_t *mem, mcp_str_t text);


/* --- mcp_cluster_join_calls.c --- */

/* Returns 1 if Redis still has to decide whether this stream is the first
 * among the streams for equal calls. */
int mcp_cluster_join_claims(const mcp_store_replication_state_t *repl_state);

/* Returns 1 if the reply to a claim came so late that the claim may have
 * expired: it has to be repeated. */
int mcp_cluster_join_is_late(const mcp_replication_t *repl);

/* mcp_cluster_join_how() returns the state that requests at other nodes need to
 * join the stream (ARGV[21] of redis/append.lua), or NUL if that argument is
 * empty. mcp_cluster_join_is_due() returns 1 if the state has changed and has
 * to be sent now. */
char mcp_cluster_join_how(const mcp_store_replication_state_t *repl_state);
int mcp_cluster_join_is_due(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state);

/* Lets the requests that wait for this stream join the other stream, which the
 * reply "TAKEN" names. As soon as that stream, or a mirror of it, is at this
 * node, their result is MCP_ERR_EXISTS; if no mirror can be created, they get
 * an error. If no request waits, frees this stream. */
void mcp_cluster_join_taken(mcp_replication_t *repl, const mcp_reply_t *reply);

/* Returns 1 if the requests that wait for this stream have to join another
 * stream at this node, although Redis has not decided yet which stream is the
 * first. The requests are then answered MCP_ERR_EXISTS. */
int mcp_cluster_join_gives_way(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state);

/* Reports to Redis the requests that have joined a mirror without a consumer,
 * and fetches events for them. Schedules the next check if neither is due. */
void mcp_cluster_join_check(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state);


#endif /* MCP_CLUSTER_REPLICATION_H_INCLUDED */
