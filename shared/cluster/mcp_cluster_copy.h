/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Streams that the nodes of a cluster share.
 *
 * The owner's node has the stream itself, and its copier appends what it gets
 * to Redis.  The node of a reader has a mirror of it, which is fed by mail, and
 * by its feeder, who fetches what no mail has brought.  Mail may be lost: each
 * side also tells Redis from time to time how it stands, and learns the rest
 * from the reply.
 *
 *   mcp_cluster_copy.c    what a process has of these streams
 *   mcp_cluster_room.c    those that wait for room on the link
 *   mcp_cluster_append.c  the copier
 *   mcp_cluster_confirm.c whether replicas have it
 *   mcp_cluster_due.c     what else than events it has to tell
 *   mcp_cluster_lag.c     how far it is behind
 *   mcp_cluster_hear.c    what it hears of readers elsewhere
 *   mcp_cluster_mirror.c  the feeder
 *   mcp_cluster_range.c   many events that it fetches
 *   mcp_cluster_beside.c  calls that others join
 *   mcp_cluster_watch.c   a client that resumes a stream here
 *   mcp_cluster_look.c    a client that asks about one
 *   mcp_cluster_post.c    a client that answers what a call has asked
 *   mcp_cluster_topic.c   topics of a session's own stream
 *   mcp_cluster_quota.c   how many calls a session may have
 *   mcp_cluster_token.c   tokens that are good for one call
 *   mcp_cluster_mail.c    what other nodes tell this one
 *   mcp_cluster_pack.c    forms of what stands in Redis
 */


#ifndef MCP_CLUSTER_COPY_H_INCLUDED
#define MCP_CLUSTER_COPY_H_INCLUDED


#include "cluster/mcp_cluster_parts.h"
#include "http/mcp_event_id.h"
#include "store/mcp_store_node.h"
#include "store/mcp_store_share.h"


/* Events of one command, and their bytes, unless the first one is longer. */
#define MCP_COPY_EVENTS      64
#define MCP_COPY_BYTES       65536
#define MCP_COPY_BYTES_ONE   2048

/* Events after which the owner is told at once how far its stream is read, and
 * the time after which it is told of fewer, ms. */
#define MCP_COPY_TELL_EVENTS  64
#define MCP_COPY_TELL_TIME   200

/* The item of a reply to redis/watch.lua with which its events begin. */
#define MCP_WATCH_EVENTS     13

/* Before what did not go well is tried again, ms. */
#define MCP_COPY_LATER       200

/* After that many times in a row a stream that Redis does not have is gone. */
#define MCP_COPY_MISSES      3


/* What this process does for a stream: it copies it, or feeds its mirror.  One
 * command at most is on its way, or some of mcp_cluster_range.c. */
struct mcp_copy_s {
    mcp_copy_t          *next;         /* of the same bucket */
    mcp_copy_t          *waits_next;   /* waits for room on the link, too */
    mcp_copy_t         **waits;        /* what points to this one; NULL: it
                                          does not wait */
    mcp_copy_t          *confirms_next;        /* waits for replicas, too */
    mcp_cluster_t       *cluster;
    mcp_stream_ref_t     ref;
    mcp_timer_t          timer;        /* when to look at it again, at last */
    uint64_t             time;         /* when Redis was told last; 0: never */
    uint64_t             number;       /* of the reader here; 0: it is none */
    uint64_t             sent;         /* as Redis was told last */
    uint64_t             fetched;      /* the event after which it is fetched */
    uint64_t             asked;        /* the last one asked for by XRANGE */
    uint64_t             upto;         /* the last one that may be */
    uint32_t             batch;        /* events of one XRANGE; 0: of none */
    uint32_t             ranges;       /* replies to XRANGE that are to come */
    uint64_t             missed;       /* since when Redis does not know the
                                          reader elsewhere; 0: it does */
    uint64_t             displaced;    /* since when Redis has something else in
                                          its place; 0: it has not */
    uint64_t             cramped;      /* since when what it inherits finds no
                                          room; 0: it does */
    mcp_store_stand_t    at;           /* how far Redis was told */
    mcp_node_place_t     heard;        /* how far a dead node had heard the
                                          others, of what is inherited */
    unsigned             topics_heard; /* as of the cluster, when they were
                                          asked for */
    uint64_t             behind;       /* since when Redis does not have an
                                          event that is here; 0: it has all */
    uint64_t             acked;        /* the last that it had then */
    uint64_t             max_wait;     /* of what it copies */
    uint64_t             whole;        /* when Redis was told all; 0: never */
    uint64_t             expires;      /* as it was told then */
    uint32_t             given;
    uint64_t             taken;
    uint64_t             floor;
    uint64_t             confirmed;
    size_t               longest;      /* bytes of an event */
    uint32_t             limit;        /* calls that its session may have; 0:
                                          any number */
    char                 joined;       /* as Redis was told last */
    unsigned             beside:1;     /* Redis knows of those who have joined
                                          here */
    uint64_t             node;         /* which this node was when Redis had
                                          it last; 0: it never did */
    unsigned             mirrors:1;    /* it has been a mirror */
    unsigned             claims:1;     /* Redis was asked whether it is the
                                          first, and may say so */
    unsigned             told:1;       /* Redis may have it from here */
    unsigned             over:1;       /* as it was told last, though the
                                          reply may be lost */
    unsigned             stays:1;      /* it was told to keep it for longer
                                          than it would, as it was read */
    unsigned             forgets:1;    /* it is gone, and Redis has to forget
                                          it before another one has its id */
    unsigned             sending:1;
    unsigned             specified:1;  /* these are known */
    unsigned             gone:1;       /* meanwhile */
    unsigned             begin:1;      /* Redis does not have it */
    unsigned             refills:1;    /* Redis has lost some: "at" is what it
                                          still has */
    unsigned             inherits:1;   /* its node is dead, and this one takes
                                          it over when it has all of it */
    unsigned             replays:1;    /* "heard" is known */
    unsigned             has_topics:1; /* of what is inherited: all */
    unsigned             full:1;       /* the mirror takes no more for now */
    unsigned             tight:1;      /* it is the room that it lacks */
    unsigned             lost:1;       /* what it inherits is not all there, and
                                          never will be */
    unsigned             says:1;       /* what is on its way has no event, and
                                          answers who asked how it stands */
    unsigned             misses:2;
    mcp_ask_t           *asks;         /* wait until Redis has it */
};


/* --- mcp_cluster_copy.c --- */

/* Returns what there is for a stream, or makes it; NULL when out of memory. */
mcp_copy_t *mcp_copy_get(mcp_cluster_t *cluster, const mcp_stream_ref_t *ref);

/* Looks at what there is to do for it, and frees it if there is nothing any
 * more: it is not to be used after that. */
void mcp_copy_look(mcp_copy_t *copy);

/* Has it looked at within so many ms. */
void mcp_copy_within(mcp_copy_t *copy, uint64_t ms);

/* Returns 1, and describes it, if the stream itself is at this node. */
int mcp_copy_has(const mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info);

/* What this process has shared of a stream goes to Redis now, before what is
 * asked next. */
void mcp_copy_flush(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/*
 * Runs a script for it, with n arguments after the stream's id, at most 2 *
 * MCP_COPY_EVENTS + 20.  The handler gets it, and has to say
 * mcp_copy_returned(), which is 0 if it was dropped meanwhile, and is freed
 * now.
 */
void mcp_copy_run(mcp_copy_t *copy, mcp_script_e script, const mcp_str_t *args,
    size_t n, mcp_link_reply_cb handler);
int mcp_copy_returned(mcp_copy_t *copy);

/* The owner's stream was freed before it was over: so it is in Redis.  Returns
 * what mcp_link_send() does. */
int mcp_copy_forget(mcp_copy_t *copy);

/* Redis has what is copied up to an event: returns those who wait for that.
 * They are answered when the copy is not used any more: who is answered goes on
 * at once, which may free it. */
mcp_ask_t *mcp_copy_safe(mcp_copy_t *copy, uint64_t seq);
void mcp_copy_answer(mcp_ask_t *asks, int rc);

/* The process is a member now, and its link is new: Redis may not have got what
 * was sent last. */
void mcp_copy_up(mcp_cluster_t *cluster);

/* The node was refused, and serves alone: nobody waits for Redis any more. */
void mcp_copy_alone(mcp_cluster_t *cluster);

/* Hooks of mcp_ask.h. */
void mcp_cluster_share(void *data, const mcp_stream_ref_t *ref,
    uint32_t limit);
int mcp_cluster_safe(void *data, const mcp_stream_ref_t *ref, mcp_ask_t *ask);
void mcp_copy_changed(void *data, const mcp_stream_ref_t *ref);

/* Frees all, after the links. */
void mcp_copy_free_all(mcp_cluster_t *cluster);


/* --- mcp_cluster_append.c, mcp_cluster_lag.c, mcp_cluster_mirror.c --- */

void mcp_append_look(mcp_copy_t *copy, const mcp_store_copying_t *copying);
void mcp_mirror_look(mcp_copy_t *copy, const mcp_store_copying_t *copying);

/* Nothing is on its way any more for a copier: takes what mcp_append_taken()
 * returns, or whether replicas have it. */
void mcp_append_over(mcp_copy_t *copy, int rc);

/* Sees whether Redis has all that is copied, and has the status told if it does
 * not. */
void mcp_lag_look(mcp_copy_t *copy, const mcp_store_copying_t *copying);

/* Puts the events that begin at item i of a reply, the first one being "seq",
 * into a mirror.  Returns MCP_OK, or what mcp_store_mirror_append() does. */
int mcp_mirror_feed(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_reply_t *reply,
    size_t i, uint64_t seq);

/* The same for one event. */
int mcp_mirror_event(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t seq, mcp_str_t message,
    mcp_str_t answers);

/* Redis does not have the mirror's stream, again: then it is gone. */
void mcp_mirror_missed(mcp_copy_t *copy);


/* --- mcp_cluster_confirm.c --- */

/* Has Redis asked whether replicas have what was sent by now, if they are to
 * have it, and are not being asked already. */
void mcp_confirm_ask(mcp_cluster_t *cluster);

/* Redis has what a copier has sent: mcp_append_over() is told, now or later,
 * MCP_OK when replicas have it, too, or MCP_ERR_AWAY. */
void mcp_confirm(mcp_copy_t *copy);


/* --- mcp_cluster_due.c --- */

/* Whether Redis is to be told of what else than events there is of a stream. */
int mcp_due_is(const mcp_copy_t *copy, const mcp_store_copying_t *copying);

/* Whether some events are all that is to be told: redis/append.lua was told the
 * rest lately, and nothing of that has changed. */
int mcp_due_is_short(const mcp_copy_t *copy,
    const mcp_store_copying_t *copying, const mcp_store_copy_t *from);

/* Redis is told all there is by now. */
void mcp_due_told(mcp_copy_t *copy, const mcp_store_copying_t *copying,
    const mcp_store_copy_t *from);

/* How long what is in Redis lasts, if nobody says anything any more, ms: for
 * what goes on, others have to find its node dead first. */
uint64_t mcp_due_lasts(const mcp_copy_t *copy,
    const mcp_store_copying_t *copying);


/* --- mcp_cluster_room.c --- */

/* Returns 1 if a command may be sent for it now; 0: it is looked at again when
 * one may. */
int mcp_copy_may_send(mcp_copy_t *copy);

/* Replies have come: looks at those that wait for room, as far as there is
 * some. */
void mcp_copy_go_on(mcp_cluster_t *cluster);

/* It does not wait any more. */
void mcp_copy_wait_no_more(mcp_copy_t *copy);


/* --- mcp_cluster_range.c --- */

/* Learns from a reply to redis/watch.lua what may be fetched without it. */
void mcp_range_learn(mcp_copy_t *copy, const mcp_reply_t *reply);

/* Fetches what follows an event, and returns 1; or 0: a script has to. */
int mcp_range_fetch(mcp_copy_t *copy, uint64_t after);


/* --- mcp_cluster_hear.c --- */

/* A reader that no mail has told of, or what was sent to it: from the reply of
 * redis/append.lua. */
void mcp_hear_readers(mcp_copy_t *copy, const mcp_reply_t *reply);


/* --- mcp_cluster_watch.c, mcp_cluster_look.c, mcp_cluster_post.c --- */

int mcp_cluster_watch(void *data, const mcp_ask_stream_t *stream,
    mcp_ask_t *ask);
int mcp_cluster_look(void *data, const mcp_ask_stream_t *stream,
    mcp_ask_t *ask);
int mcp_cluster_list(void *data, const mcp_ask_stream_t *stream,
    mcp_ask_t *ask);
int mcp_cluster_post(void *data, const mcp_ask_post_t *post, mcp_ask_t *ask);

/* Raises the turn of the stream, or of the mirror, that is here. */
void mcp_cluster_turn(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], uint32_t turn);


/* --- mcp_cluster_topic.c --- */

int mcp_cluster_topic(void *data, const mcp_ask_topic_t *topic,
    mcp_ask_t *ask);

/* Asks for the topics of a listener whose mirror is here, to be inherited, and
 * sets has_topics then.  What is subscribed from now on is heard by the mirror,
 * so none is missed. */
void mcp_topic_fetch(mcp_copy_t *copy);

/* Has the listener that it was inherited for hear what nodes were told while
 * it had no owner, up to what this node has heard. */
void mcp_topic_replay(mcp_copy_t *copy);

/* Goes on with what could not be asked for. */
void mcp_topic_again(mcp_cluster_t *cluster);

/* What has not been heard by now is not. */
void mcp_topic_free_all(mcp_cluster_t *cluster);


/* --- mcp_cluster_quota.c --- */

int mcp_cluster_quota(void *data,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t limit,
    mcp_ask_t *ask);

/* Its session has too many: it is this node's alone, and its owner ends it. */
void mcp_quota_refused(mcp_copy_t *copy);


/* --- mcp_cluster_reap.c --- */

/* Others took this node for dead, and one of them has the stream: its backend
 * finds it gone, and its client comes back to that one. */
void mcp_reap_fenced(mcp_copy_t *copy);

/* Redis cannot do what it was told of it.  If that is as something else stands
 * where its keys are to be, it waits for as long as it would for Redis, and is
 * given up then: returns 1 if it is. */
int mcp_reap_displaced(mcp_copy_t *copy, const mcp_reply_t *error);


/* --- mcp_cluster_token.c --- */

int mcp_cluster_token(void *data, const mcp_ask_token_t *token,
    mcp_ask_t *ask);

/* Tells Redis what it has not got yet of tokens. */
void mcp_token_again(mcp_cluster_t *cluster);

/* What has not been told is lost. */
void mcp_token_free_all(mcp_cluster_t *cluster);


/* --- mcp_cluster_mail.c --- */

/* Takes an entry of this node's mail: {field, value, ...}. */
void mcp_cluster_mail(mcp_cluster_t *cluster, const mcp_reply_t *fields);


/* --- mcp_cluster_pack.c --- */

#define MCP_PACK_STAND_MAX   88
#define MCP_PACK_ANSWERS_MAX 24
#define MCP_PACK_TASK_MAX    84

/* What a stream is as a task; expires is 0 of one that is none. */
typedef struct {
    uint64_t  expires;
    uint64_t  kept;
    uint64_t  changed;
    uint32_t  given;
} mcp_pack_task_t;

/* Write what "x", "r" and "v" of redis/streams.lua are; return the end. */
char *mcp_pack_stand(char *p, const mcp_store_stand_t *stand);
char *mcp_pack_answers(char *p, const mcp_store_raw_t *raw);
char *mcp_pack_task(char *p, const mcp_pack_task_t *task);

/* Read it.  Return MCP_OK, or
 *   MCP_ERR_SYNTAX  nothing that was written so */
int mcp_unpack_stand(mcp_str_t text, mcp_store_stand_t *stand);
int mcp_unpack_answers(mcp_str_t text, mcp_store_raw_t *raw);
int mcp_unpack_task(mcp_str_t text, mcp_pack_task_t *task);

/* Appends what never changes of a stream; and reads it, into a spec whose texts
 * are part of the text. */
void mcp_pack_spec(mcp_buf_t *buf, const mcp_stream_spec_t *spec);
int mcp_unpack_spec(const mcp_mem_t *mem, mcp_str_t text,
    mcp_stream_spec_t *spec);

/* Returns 1 if a text can be an event: JSON without a line end. */
int mcp_pack_is_message(const mcp_mem_t *mem, mcp_str_t text);


/* --- mcp_cluster_beside.c --- */

/* Whether Redis says which of those who ask for the same is the first. */
int mcp_beside_claims(const mcp_store_copying_t *copying);

/* Returns 1 if the reply to a claim came so late that it may have expired: it
 * has to be made once more. */
int mcp_beside_is_late(const mcp_copy_t *copy);

/* How a stream stands for those who join it elsewhere, as redis/append.lua is
 * told; and whether to tell that now. */
char mcp_beside_how(const mcp_store_copying_t *copying);
int mcp_beside_is_due(const mcp_copy_t *copy,
    const mcp_store_copying_t *copying);

/* Another stream is to be joined by those who wait for this one: they are
 * answered MCP_ERR_EXISTS when it is here, or what has come in between. */
void mcp_beside_taken(mcp_copy_t *copy, const mcp_reply_t *reply);

/* Returns 1 if the same is joined here by now, before Redis was asked for this
 * stream: those who wait for it are answered MCP_ERR_EXISTS. */
int mcp_beside_gives_way(mcp_copy_t *copy, const mcp_store_copying_t *copying);

/* Looks at what there is to do for those who have joined a mirror here that
 * nobody else reads. */
void mcp_beside_look(mcp_copy_t *copy, const mcp_store_copying_t *copying);

/* Reads what redis/append.lua was told for those who join. */
void mcp_beside_read(mcp_str_t joined, uint64_t sent,
    const mcp_pack_task_t *task, mcp_store_joined_t *out);


#endif /* MCP_CLUSTER_COPY_H_INCLUDED */
