/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The insides of a process's part in a cluster.
 *
 *   mcp_cluster.c         the node: joins, beats, and knows the others
 *   mcp_cluster_members.c who the others are, and why it is not let in
 *   mcp_cluster_link.c    one connection: opened, kept, lost, opened again
 *   mcp_cluster_command.c commands on it, and their replies
 *   mcp_cluster_greet.c   what is said on it first
 *   mcp_cluster_script.c  what Redis runs for us
 *   mcp_cluster_wire.c    the protocol
 *   mcp_cluster_tell.c    what nodes tell each other
 *   mcp_cluster_notice.c  notifications among it
 *   mcp_cluster_place.c   how far they have heard that
 *   mcp_cluster_reap.c    what becomes of a node that is dead
 *   mcp_cluster_copy.h    streams that they share
 *
 * docs/cluster.md tells operators what a cluster is.
 */


#ifndef MCP_CLUSTER_PARTS_H_INCLUDED
#define MCP_CLUSTER_PARTS_H_INCLUDED


#include "mcp_cluster.h"
#include "cluster/mcp_cluster_script.h"
#include "cluster/mcp_cluster_wire.h"
#include "store/mcp_store_node.h"
#include "worker/mcp_ask.h"


/* Commands without their reply, and bytes that wait to be written: beyond
 * either, nothing more is sent.  There is room for many long answers of
 * clients, as who comes behind one is not to be refused.  Copiers' bytes do
 * not count as such, so that no client is refused for them, either; those of
 * all are limited as well. */
#define MCP_LINK_WINDOW      4096
#define MCP_LINK_BYTES       (16 * 1024 * 1024)
#define MCP_LINK_BYTES_MAX   (64 * 1024 * 1024)

/* A buffer that has grown beyond this is given back once it is written. */
#define MCP_LINK_BYTES_KEPT  (1024 * 1024)

/* With so many commands on their way, or bytes, no copier sends any more:
 * clients would wait for its replies before theirs. */
#define MCP_LINK_COPIES      512
#define MCP_LINK_COPY_BYTES  (128 * 1024)

/* The same for a copier that a client waits for. */
#define MCP_LINK_ASKED       2048

/* A reply is no longer. */
#define MCP_LINK_REPLY_MAX   (64 * 1024 * 1024)

/* Between two attempts to connect, ms. */
#define MCP_LINK_DELAY_MIN   100
#define MCP_LINK_DELAY_MAX   5000

/* One server leads to another so many times in a row. */
#define MCP_LINK_REDIRECTS   5

#define MCP_LINK_HOST_MAX    255
#define MCP_LINK_REASON_MAX  320

/* An error's text, with the name of the server. */
#define MCP_CLUSTER_ERROR_MAX  (MCP_LINK_HOST_MAX + MCP_LINK_REASON_MAX + 16)

/* Beats within the time after which a silent node is dead. */
#define MCP_CLUSTER_BEATS    3

/* An error that goes on is logged again after so long, ms. */
#define MCP_CLUSTER_AGAIN    60000

/* Layouts of what is kept in Redis that this build reads, and writes. */
#define MCP_CLUSTER_LAYOUT_MIN  1
#define MCP_CLUSTER_LAYOUT_MAX  1

/* Signing keys, of all endpoints, that a node has. */
#define MCP_CLUSTER_KEYS_MAX    64
#define MCP_CLUSTER_ID_LEN      16     /* hex digits of a node's id */
#define MCP_CLUSTER_PRINT_LEN   16     /* hex digits of a key's fingerprint */

/* Arguments of a script. */
#define MCP_CLUSTER_ARGS        160

/* For finding what a process has of shared streams. */
#define MCP_CLUSTER_BUCKETS     1024

/* Rules of the user of Redis besides its keys, as in docs/cluster.md. */
#define MCP_CLUSTER_RIGHTS      "+@all -@admin -@dangerous +info +role"

/* Clocks that differ more are warned of, ms. */
#define MCP_CLUSTER_OFFSET_MAX  2000


typedef enum {
    MCP_LINK_DOWN = 0,         /* until its timer runs */
    MCP_LINK_OPENING,          /* CONNECT is queued, or pulled */
    MCP_LINK_GREETING,         /* it is open, see mcp_cluster_greet.c */
    MCP_LINK_UP,
    MCP_LINK_CLOSING           /* DISCONNECT is queued */
} mcp_link_state_e;


/* Takes the reply to a command; NULL: the link was lost before, and nobody
 * knows whether Redis has done it. */
typedef void (*mcp_link_reply_cb)(void *data, const mcp_reply_t *reply);


typedef struct {
    mcp_link_reply_cb   handler;
    void               *data;
} mcp_link_pending_t;


struct mcp_link_s {
    mcp_errand_t         errand;
    mcp_cluster_t       *cluster;
    void               (*up)(mcp_cluster_t *cluster);
    void               (*down)(mcp_cluster_t *cluster);
    void                *glue;
    mcp_link_state_e     state;        /* see mcp_link_set_state() */
    mcp_timer_t          timer;        /* of the state */

    mcp_cluster_seed_t   target;
    unsigned             seed;         /* which of them is next */
    unsigned             attempts;     /* since it was settled */
    unsigned             redirects;
    unsigned             redirected:1; /* target is no seed, but where one has
                                          led to */
    unsigned             at_once:1;    /* the next attempt does not wait */
    unsigned             rests:1;      /* it is not opened again */
    unsigned             asks:1;       /* target is a Sentinel */
    unsigned             reloads:1;    /* it loads lost scripts again */
    unsigned             answered:1;   /* bytes came on this connection */
    char                 host[MCP_LINK_HOST_MAX + 1];

    mcp_wire_t          *wire;
    mcp_buf_t            out[2];       /* of which one is being written while
                                          the other one grows */
    unsigned             writing;      /* which */
    size_t               written;      /* of its bytes */
    size_t               copied;       /* copiers' bytes in the one that
                                          grows */

    mcp_link_pending_t   pending[MCP_LINK_WINDOW];     /* a ring */
    unsigned             first;
    unsigned             n_pending;
    unsigned             loaded;       /* scripts, while it is greeting */
    unsigned             skips;        /* replies to drop, to commands that were
                                          given up when the scripts were gone */
    uint64_t             reloaded;     /* when the scripts were loaded again */

    uint64_t             heard;        /* when bytes came last */
    uint64_t             pinged;       /* when an answer became due; 0: none
                                          is */
    unsigned             pings:1;      /* to a PING, which is on its way */
    uint64_t             round_trip;   /* of the last one, ms */
};


typedef struct mcp_copy_s        mcp_copy_t;
typedef struct mcp_token_word_s  mcp_token_word_t;
typedef struct mcp_replay_s      mcp_replay_t;
typedef struct mcp_notice_s      mcp_notice_t;


/* A node that this process watches, see mcp_cluster_reap.c. */
typedef struct {
    uint64_t                   node;
    uint64_t                   beats;
    uint64_t                   since;  /* when it had beaten so often, ms */
    uint64_t                   dead_after;     /* as it says itself, ms */
    unsigned                   seen;   /* so many times in a row */
} mcp_pulse_t;


/* What is asked of Redis about this node. */
typedef enum {
    MCP_CLUSTER_APART = 0,     /* not a member: no link, or refused */
    MCP_CLUSTER_ASKING,        /* "hello" is on its way */
    MCP_CLUSTER_MEMBER
} mcp_cluster_state_e;


struct mcp_cluster_s {
    mcp_worker_t              *worker;
    const mcp_cluster_conf_t  *conf;
    mcp_link_t                 link;
    mcp_link_t                 ear;    /* of the process that speaks, see
                                          mcp_cluster_tell.c */
    unsigned                   low;    /* layouts that it reads */
    unsigned                   high;
    mcp_cluster_state_e        state;
    mcp_timer_t                beat;
    mcp_timer_t                lag;    /* see mcp_cluster_lag.c */
    uint64_t                   node;   /* its id, as Redis was told last */
    uint64_t                   member; /* the id with which this process was
                                          let in last; 0: never */
    uint64_t                   asked;  /* when "hello" or "beat" was sent */
    uint64_t                   away;   /* since when it is no member */
    uint64_t                   denied; /* when the log was to be told that
                                          Redis does not let it in */
    int64_t                    offset;         /* Redis's clock minus ours,
                                                  ms */
    mcp_node_place_t           beyond[MCP_NODE_PLACES];        /* Redis's clock,
                                                  as it was asked about */
    unsigned                   speaks:1;       /* for the node */
    unsigned                   hearing:1;      /* a command waits for news */
    unsigned                   beating:1;      /* its reply is to come */
    unsigned                   doubts:1;       /* that it is alive: asks */
    unsigned                   far:1;  /* the clocks differ: the log was told */

    mcp_pulse_t                pulses[MCP_NODE_MEMBERS];
    size_t                     n_pulses;
    mcp_pulse_t                reaps;  /* the dead one whose streams it takes
                                          over, or the node itself; node 0:
                                          none */
    unsigned                   settled:1;      /* the node knows all that it was
                                                  given of dead ones */

    mcp_copy_t                *copies[MCP_CLUSTER_BUCKETS];
    mcp_copy_t                *waiting;        /* for room on the link: the
                                                  first one */
    mcp_copy_t               **waiting_end;
    const mcp_copy_t          *turn;   /* the one that has waited and may send
                                          now */
    unsigned                   at_once:1;      /* what is looked at does not
                                                  wait */
    mcp_copy_t                *confirms;       /* wait for the reply to WAIT,
                                                  see mcp_cluster_confirm.c */
    mcp_copy_t               **confirms_end;
    uint64_t                   unconfirmed;    /* when one has failed last */
    unsigned                   confirming:1;   /* one is on its way */

    mcp_token_word_t          *words;  /* of tokens, that Redis has not got
                                          yet */
    unsigned                   n_words;
    unsigned                   words_again:1;  /* they are being said */
    mcp_notice_t              *notices;        /* that Redis may not have, in
                                                  their order */
    mcp_notice_t             **notices_end;
    unsigned                   n_notices;
    unsigned                   notices_sending;        /* of them */
    mcp_timer_t                notices_late;   /* the first one is too old */
    uint64_t                   notices_of;     /* a name of this process; 0:
                                                  none yet */
    uint64_t                   notices_told;   /* so many, so far */
    unsigned                   topics_heard;   /* words about topics, so far */
    mcp_replay_t              *replays;        /* of what others have told, that
                                                  are to go on */

    char                       script[MCP_SCRIPTS][MCP_SCRIPT_ID_LEN];
    char                       prints[MCP_CLUSTER_KEYS_MAX
                                      * (MCP_CLUSTER_PRINT_LEN + 1)];
    size_t                     prints_len;     /* separated by commas */
};


/* --- mcp_cluster.c --- */

/* Whether Redis has been out of reach for too long, see mcp_ask.h. */
int mcp_cluster_is_away(void *data);

/* What Redis says of something of this node's looks as if the node was taken
 * for dead, which the one that speaks for it may not know: asks. */
void mcp_cluster_doubt(mcp_cluster_t *cluster);

/* Tells the log of a reply that no script of ours gives, or of an error. */
void mcp_cluster_strange(mcp_cluster_t *cluster, const char *script,
    const mcp_reply_t *reply);

/* Handles an error that denies this node its rights: the node serves alone, and
 * the link ends with a line that names the user and the rules it needs. */
void mcp_cluster_barred(mcp_link_t *link, const char *command,
    const mcp_reply_t *error);

/* The scripts are there again: sends what was given up. */
void mcp_cluster_reloaded(mcp_cluster_t *cluster);

/* Tells the status page what is wrong, and the log once for all processes of
 * the node, until all was well. */
void mcp_cluster_error(mcp_cluster_t *cluster, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));


/* --- mcp_cluster_members.c --- */

/* Notes {"OK", time, layout, members}, so that any process can show it. */
void mcp_cluster_note(mcp_cluster_t *cluster, const mcp_reply_t *reply);

/* Returns 1 if this build reads what has that layout; if not, the node serves
 * alone, and says why. */
int mcp_cluster_reads(mcp_cluster_t *cluster, const mcp_reply_t *layout);

/* Redis does not let this node in, and the log has to be told next.  It serves
 * alone until Redis does, unless it has been in: then Redis is out of reach. */
void mcp_cluster_denied(mcp_link_t *link, const mcp_reply_t *error);

/* Says why "hello" has not let the node in; returns 0 if that was not the
 * reply. */
int mcp_cluster_refused(mcp_cluster_t *cluster, const mcp_reply_t *reply);


/* --- mcp_cluster_lag.c --- */

/* Nothing is to be copied yet. */
void mcp_lag_init(mcp_cluster_t *cluster);


/* --- mcp_cluster_reap.c --- */

/* Looks at the members that "beat" has named, for those that are dead, and at
 * what this node was given of them. */
void mcp_cluster_pulse(mcp_cluster_t *cluster, const mcp_reply_t *members);

/* The link was lost, or another process speaks for the node: what was seen
 * before says nothing any more. */
void mcp_cluster_blind(mcp_cluster_t *cluster);


/* --- mcp_cluster_link.c --- */

/* up, down: the link is up, or was lost. */
void mcp_link_init(mcp_link_t *link, mcp_cluster_t *cluster,
    void (*up)(mcp_cluster_t *cluster), void (*down)(mcp_cluster_t *cluster));
void mcp_link_free(mcp_link_t *link);

/* Opens it, unless it is open, or is to be opened; or closes it for good. */
void mcp_link_start(mcp_link_t *link);
void mcp_link_stop(mcp_link_t *link);

/* All that was said first went well. */
void mcp_link_greeted(mcp_link_t *link);

/* Loads the scripts again, which Redis has lost, on the open connection.
 * Commands without a reply are given up, and those that need one are sent again
 * afterwards.  Returns 0 if they were loaded less than "timeout" ago: the link
 * has to be closed. */
int mcp_link_reload(mcp_link_t *link);

/* The server does what is asked of it: delays begin anew. */
void mcp_link_settled(mcp_link_t *link);

/* Closes it, and opens it again after a while, or at once at another server.
 * Commands that wait for their reply get none. */
void mcp_link_fail(mcp_link_t *link, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void mcp_link_redirect(mcp_link_t *link, mcp_str_t host, mcp_str_t port);

/* Writes where the link leads to, for people, and a NUL. */
#define MCP_LINK_NAME_MAX  (MCP_LINK_HOST_MAX + 8)

void mcp_link_name(const mcp_link_t *link, char name[MCP_LINK_NAME_MAX]);


/* Has the glue do something. */
void mcp_link_queue(mcp_link_t *link, mcp_action_e type);


/* --- mcp_cluster_command.c --- */

/*
 * Sends a command of n words; the handler is called once, but not before this
 * function returns.
 *
 * Returns MCP_OK, or, and then the handler is not called,
 *   MCP_AGAIN   the link is not up, or the window is full
 */
int mcp_link_send(mcp_link_t *link, const mcp_str_t *words, size_t n,
    mcp_link_reply_cb handler, void *data);

/* Returns 1 if a copier may send a command. */
int mcp_link_has_room(const mcp_link_t *link);

/* Returns how many bytes of commands wait for those that are being written. */
size_t mcp_link_bytes(const mcp_link_t *link);

/* A copier has sent what came after so many of these bytes. */
void mcp_link_copied(mcp_link_t *link, size_t before);

/* Returns 1 if bytes come and go on it. */
int mcp_link_is_open(const mcp_link_t *link);

/* The same while it is greeting. */
int mcp_link_greet(mcp_link_t *link, const mcp_str_t *words, size_t n,
    mcp_link_reply_cb handler);

/* Sends the scripts; mcp_link_greeted() follows. */
void mcp_link_send_scripts(mcp_link_t *link);

/* Takes a reply, which is that to the first command that waits. */
void mcp_link_reply(mcp_link_t *link, const mcp_reply_t *reply);

/* Writes the node's id, or another one's, and a NUL. */
void mcp_cluster_id(const mcp_cluster_t *cluster,
    char id[MCP_CLUSTER_ID_LEN + 1]);
void mcp_cluster_node_id(uint64_t node, char id[MCP_CLUSTER_ID_LEN + 1]);

/* Reads a node's id; 0: it is none. */
uint64_t mcp_cluster_read_id(mcp_str_t text);

/* Runs a script, with n arguments, at most MCP_CLUSTER_ARGS, after the node and
 * the time after which it is dead.  Returns what mcp_link_send() does. */
int mcp_cluster_run(mcp_cluster_t *cluster, mcp_script_e script,
    const mcp_str_t *args, size_t n, mcp_link_reply_cb handler, void *data);


/* --- mcp_cluster_tell.c --- */

/* What a worker tells its cluster by. */
extern const mcp_cluster_hooks_t  mcp_cluster_hooks;

/* Returns MCP_OK if "tell" has told, or MCP_ERR_AWAY; the log has why. */
int mcp_tell_taken(mcp_cluster_t *cluster, const mcp_reply_t *reply);

/* Tells a word; as: {the process that tells it, its number there}, by which
 * Redis knows whether it has it already; or NULL.  Returns what mcp_link_send()
 * does. */
int mcp_tell_run(mcp_cluster_t *cluster, const mcp_word_t *word,
    const mcp_str_t *as, mcp_link_reply_cb handler, void *data);

/* Reads an entry, or the id of one, "ms-n"; 0: it is none of ours. */
int mcp_tell_read(mcp_cluster_t *cluster, const mcp_reply_t *fields,
    mcp_word_t *word);
int mcp_tell_place(mcp_str_t text, mcp_node_place_t *place);

/* Writes the name of a stream of words. */
#define MCP_TELL_KEY_MAX   256

mcp_str_t mcp_tell_key(const mcp_cluster_t *cluster, mcp_node_place_e which,
    char key[MCP_TELL_KEY_MAX]);

/* Hears what others tell, if this process speaks for the node; or ceases to. */
void mcp_cluster_listen(mcp_cluster_t *cluster);

/* Its connection for that is up, or was lost. */
void mcp_cluster_ear_up(mcp_cluster_t *cluster);
void mcp_cluster_ear_down(mcp_cluster_t *cluster);


/* --- mcp_cluster_notice.c --- */

void mcp_notice_init(mcp_cluster_t *cluster);

/* Tells a notification: MCP_AGAIN, as this node will hear it, at the latest
 * when it expires; or MCP_ERR_AWAY: it is not told. */
int mcp_notice_tell(mcp_cluster_t *cluster, const mcp_word_t *word);

/* Tells those that Redis may not have. */
void mcp_notice_again(mcp_cluster_t *cluster);

/* The process ends: nobody knows whether they will be heard. */
void mcp_notice_free_all(mcp_cluster_t *cluster);


/* --- mcp_cluster_place.c --- */

/* Redis's clock is "now": a stream that was heard beyond that is heard from its
 * beginning, if it has begun anew. */
void mcp_place_check(mcp_cluster_t *cluster, uint64_t now);


/* --- mcp_cluster_greet.c --- */

/* Says what is said first on a connection, and has the link greeted, failed or
 * redirected in the end. */
void mcp_link_say_hello(mcp_link_t *link);

/* Returns 1 if an error says that the server does not let this node in, as who
 * it says it is. */
int mcp_greet_denies(mcp_str_t error);

/* Returns 1 if an error has these words somewhere in its text. */
int mcp_greet_mentions(mcp_str_t error, const char *words);


#endif /* MCP_CLUSTER_PARTS_H_INCLUDED */
