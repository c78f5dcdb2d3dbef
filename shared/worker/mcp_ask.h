/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is said to the other nodes of a cluster, and the requests that wait
 * until it has arrived.
 *
 * The rule for who waits: ask, stop, run again.  A function of an exchange, its
 * root, asks as if the answer were there; while it is not, it stops and returns
 * MCP_AGAIN.  When all is answered it runs again from its beginning, and finds
 * each answer by its place among those of its kind: so it does nothing that
 * counts before it has asked.
 *
 * A worker without a cluster never waits.
 */


#ifndef MCP_ASK_H_INCLUDED
#define MCP_ASK_H_INCLUDED


#include "worker/mcp_worker_parts.h"


/* ms: a cluster that is silent for so long is away. */
#define MCP_ASK_TIME  1000


/* What nodes tell each other. */
typedef enum {
    /* Values of the store that all are to have. */
    MCP_WORD_SESSION_ENDED = MCP_VALUE_SESSION_ENDED,
    MCP_WORD_LOG_LEVEL = MCP_VALUE_LOG_LEVEL,
    MCP_WORD_CANCELLED = MCP_VALUE_CANCELLED,
    MCP_WORD_CROWDED = MCP_VALUE_CROWDED,

    /* A notification for those who have subscribed. */
    MCP_WORD_NOTIFICATION = 'p',

    /* A session subscribes its own stream to a topic, the key, if the value is
     * 1; or unsubscribes it. */
    MCP_WORD_TOPIC = 's'
} mcp_word_e;

/* A longer notification is not told, bytes. */
#define MCP_WORD_MESSAGE_MAX  8192

struct mcp_word_s {
    mcp_word_e             what;
    unsigned char          key[MCP_DIGEST_LEN];
    unsigned char          session[MCP_DIGEST_LEN];    /* that it is about */
    uint32_t               value;
    uint64_t               expires;
    mcp_str_t              message;    /* of a notification; or empty */
    uint64_t               ms;         /* where it stands in what nodes were
                                          told; 0: it was not heard */
    uint64_t               n;
    unsigned               own:1;      /* this node has told it */
};

/* Makes one of a value. */
void mcp_word(mcp_word_t *word, mcp_word_e what,
    const unsigned char key[MCP_DIGEST_LEN],
    const unsigned char session[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires);


/* A stream that a client resumes, or asks about. */
typedef struct {
    unsigned char          id[MCP_STREAM_ID_LEN];
    uint64_t               after;      /* the last event that it has */
    unsigned char          session[MCP_DIGEST_LEN];    /* it has to be of it */
    unsigned char          principal[MCP_DIGEST_LEN];
    unsigned               listens:1;  /* after the last event that was sent
                                          instead, wherever; of a task, this
                                          node is to hear when it changes, see
                                          mcp_notify_task() */
    unsigned               any_session:1;      /* of whatever session */
    unsigned               task:1;     /* with its last event */
    unsigned               drops:1;    /* "after" and what came before it */
    unsigned               has_turn:1; /* the next two count */
    uint32_t               turn;       /* that of the stream is at least this
                                          from now on, */
    uint32_t               turn_max;   /* unless it was above this: then there
                                          is no such stream */
} mcp_ask_stream_t;


/* A topic of a session's own stream. */
typedef struct {
    unsigned char          id[MCP_STREAM_ID_LEN];
    unsigned char          session[MCP_DIGEST_LEN];
    unsigned char          topic[MCP_DIGEST_LEN];
    unsigned               subscribe:1;
} mcp_ask_topic_t;


/* What is known of a stream of another node. */
typedef struct {
    mcp_store_look_t       look;       /* info.ref.index is 0 */
    mcp_str_t              event;      /* the last one, of a task */
} mcp_found_t;


/* What a client brings to a call. */
typedef enum {
    MCP_ASK_POST_INPUT = 0,    /* answers, for mcp_store_post() */
    MCP_ASK_POST_TASK,         /* the same, for mcp_store_answer() */
    MCP_ASK_POST_CANCEL        /* of a task: its end */
} mcp_ask_post_e;

typedef struct {
    mcp_ask_post_e         what;
    unsigned char          id[MCP_STREAM_ID_LEN];

    /* it has to be of this session, or of a task, this principal */

    unsigned char          session[MCP_DIGEST_LEN];
    unsigned char          principal[MCP_DIGEST_LEN];
    uint32_t               turn;       /* see mcp_ask_stream_t; or 0 */
    uint64_t               seq;        /* of the event that asks, of a task */
    uint32_t               bits;       /* of the questions that are answered */
    uint32_t               all;        /* of all */
    mcp_str_t              data;
} mcp_ask_post_t;


/* What a root asks for, and how the answer is found when it runs again. */
typedef enum {
    MCP_ASK_WORD = 0,
    MCP_ASK_STREAM,
    MCP_ASK_LOOK,
    MCP_ASK_LIST,
    MCP_ASK_POST,
    MCP_ASK_QUOTA,
    MCP_ASK_TOKEN
} mcp_ask_kind_e;


/* Someone who waits for the answer: an exchange, or who has a handler. */
struct mcp_ask_s {
    void                 (*handler)(void *data, int rc);
    void                  *data;
    mcp_ask_t             *next;       /* of the same exchange */
    mcp_exchange_t        *x;          /* NULL: it has gone */
    mcp_worker_t          *worker;
    mcp_ask_kind_e         kind;       /* by a root */
    int                    rc;         /* MCP_AGAIN: not answered */
    unsigned               holds;      /* 1: the answer to the exchange is made,
                                          and waits for this */
    mcp_ask_t             *later;      /* of the same stream, for "safe" */
    uint32_t               value;      /* by "token" */
    uint64_t               seq;        /* the event that "safe" is about; 0: the
                                          stream itself */
    mcp_found_t           *found;      /* by "look" or "list"; from env->mem */
    size_t                 n_found;
};


/* A token that is good for one call. */
typedef enum {
    MCP_ASK_TOKEN_TAKE = 0,    /* to use it */
    MCP_ASK_TOKEN_GIVE,        /* it is not used after all */
    MCP_ASK_TOKEN_SET,         /* its call is a stream, which value says */
    MCP_ASK_TOKEN_DROP         /* its call came to nothing */
} mcp_ask_token_e;

typedef struct {
    mcp_ask_token_e        what;
    unsigned char          key[MCP_DIGEST_LEN];
    unsigned char          stream[MCP_STREAM_ID_LEN];  /* its call's, to set */
    uint32_t               value;      /* not 0 */
    uint64_t               expires;
} mcp_ask_token_t;


/* What a cluster does for its worker, see mcp_worker_s. */
struct mcp_cluster_hooks_s {

    /*
     * Tells all other nodes.  ask: who waits, or NULL; it is not answered
     * before this returns.
     *
     * Returns MCP_OK: done, nothing follows; or
     *   MCP_AGAIN     mcp_ask_answer() follows, if somebody waits; of a
     *                 notification: it is heard, here, too, see mcp_ask_hear()
     *   MCP_ERR_AWAY  the cluster cannot be reached
     *   MCP_ERR_MEMORY
     */
    int                  (*tell)(void *cluster, const mcp_word_t *word,
                             mcp_ask_t *ask);

    /*
     * Has a stream at this node, to be read by this process from now on: the
     * stream itself, or a mirror of one that is at another node.  One that the
     * cluster does not know may be here nevertheless.  Returns what tell does;
     * the answer may also be
     *   MCP_ERR_DENIED     a client that came later reads it elsewhere
     *   MCP_ERR_AHEAD      it has no such event, as far as the cluster knows;
     *                      its node is asked
     *   MCP_ERR_FULL       the region has no room for a mirror
     *   MCP_ERR_NOT_FOUND  the cluster does not know it, if it listens
     */
    int                  (*watch)(void *cluster,
                             const mcp_ask_stream_t *stream, mcp_ask_t *ask);

    /*
     * Looks at a stream without reading it: its time starts anew, and "after"
     * is confirmed.  Returns what tell does; with MCP_OK, ask->found is what
     * the cluster knows of it.  The answer may also be MCP_ERR_AHEAD, as of
     * watch.
     */
    int                  (*look)(void *cluster, const mcp_ask_stream_t *stream,
                             mcp_ask_t *ask);

    /* The same for all streams of the session and the principal. */
    int                  (*list)(void *cluster, const mcp_ask_stream_t *stream,
                             mcp_ask_t *ask);

    /*
     * Brings answers to a call of another node, or tells the others of those
     * that this node takes itself; passes over what nobody waits for.  Returns
     * what tell does; the answer may also be
     *   MCP_ERR_LIMIT      there is no room for them
     *   MCP_ERR_NOT_FOUND  the cluster knows of no such call, or it is over
     */
    int                  (*post)(void *cluster, const mcp_ask_post_t *post,
                             mcp_ask_t *ask);

    /*
     * Has the owner of a session's own stream, wherever it is, subscribe it
     * before it hears what is told after the answer; this node is to have done
     * that.  Returns what tell does; the answer may also be
     *   MCP_ERR_NOT_FOUND  the cluster knows of no such stream
     */
    int                  (*topic)(void *cluster, const mcp_ask_topic_t *topic,
                             mcp_ask_t *ask);

    /* Returns 1 if the cluster has been out of reach for so long that nothing
     * new may be begun. */
    int                  (*is_away)(void *cluster);

    /*
     * Says when the cluster has a stream that this process has made, or an
     * event of it.  Returns what tell does, or MCP_ERR_NOT_FOUND: it is gone;
     * of one that is held the answer may also be
     *   MCP_ERR_EXISTS     another one is to be joined, and is here now
     *   MCP_ERR_NOT_FOUND  it, or that other one, is gone
     *   MCP_ERR_FULL       the region has no room for that one
     */
    int                  (*safe)(void *cluster, const mcp_stream_ref_t *ref,
                             mcp_ask_t *ask);

    /* Shares a stream that this process has made.  limit: how many calls of its
     * session may go on at all nodes, 0: any number.  If they are too many it
     * is not shared after all, and gets MCP_POST_LIMIT. */
    void                 (*share)(void *cluster, const mcp_stream_ref_t *ref,
                             uint32_t limit);

    /*
     * Asks whether one more call of a session may begin.  Returns what tell
     * does; the answer may also be
     *   MCP_ERR_LIMIT  it may not
     */
    int                  (*quota)(void *cluster,
                             const unsigned char session[MCP_DIGEST_LEN],
                             uint32_t limit, mcp_ask_t *ask);

    /*
     * Takes a token, which only one node may; or says what became of it, and
     * then ask is NULL.  Returns what tell does; the answer may also be
     *   MCP_ERR_DENIED  it is in use, or was used; ask->value is what was set,
     *                   or 0
     */
    int                  (*token)(void *cluster, const mcp_ask_token_t *token,
                             mcp_ask_t *ask);

    /* Something of a shared stream, or of a mirror, has changed: a wake of
     * MCP_WAKE_COPY. */
    void                 (*changed)(void *cluster, const mcp_stream_ref_t *ref);
};


/*
 * Runs the root of a request that has no body, from its head.  Where there is a
 * cluster it only takes note of it: an answer that has to be waited for is that
 * of a body, which may be empty.  Returns what mcp_exchange_head() does.
 */
int mcp_ask_begin(mcp_exchange_t *x, int (*root)(mcp_exchange_t *x));

/* The same from the body on: runs the root at once.  Returns what
 * mcp_exchange_body() does. */
int mcp_ask_now(mcp_exchange_t *x, int (*root)(mcp_exchange_t *x));

/* Runs the root of which mcp_ask_begin() took note; returns what
 * mcp_exchange_body() does. */
int mcp_ask_run(mcp_exchange_t *x);

/*
 * Tells all other nodes, for a root of mcp_ask_begin().
 *
 * Returns MCP_OK: they were told, or there are none; or
 *   MCP_AGAIN     stop, and return this
 *   MCP_ERR_AWAY  the cluster cannot be reached
 *   MCP_ERR_MEMORY
 */
int mcp_ask(mcp_exchange_t *x, const mcp_word_t *word);

/* Has a stream at this node, for a root of mcp_ask_begin().  Returns what
 * mcp_ask() does, or MCP_ERR_DENIED, MCP_ERR_FULL, or MCP_ERR_NOT_FOUND, see
 * watch. */
int mcp_ask_stream(mcp_exchange_t *x, const mcp_ask_stream_t *stream);

/*
 * Looks at a stream, for a root.  What is found can be asked of mcp_ask_found()
 * until the root returns.  Returns what mcp_ask() does.
 */
int mcp_ask_look(mcp_exchange_t *x, const mcp_ask_stream_t *stream);

/* The same for all streams of the session and the principal, some hundred of
 * them; the rest of *stream does not matter. */
int mcp_ask_list(mcp_exchange_t *x, const mcp_ask_stream_t *stream);

/* Returns what is known of a stream that mcp_ask_look() has found; NULL: it has
 * not.  It lasts as long as the exchange. */
const mcp_found_t *mcp_ask_found(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/* The same for what mcp_ask_list() has found, the i-th from 0 on. */
const mcp_found_t *mcp_ask_found_at(const mcp_exchange_t *x, size_t i);

/*
 * Looks at a stream again, for an exchange whose root has returned.  The
 * handler is called unless the exchange is freed before; *ask is this question,
 * or the one before, which is freed; NULL: there was none.
 *
 * Returns MCP_AGAIN: the handler will be called; or
 *   MCP_ERR_AWAY  the cluster cannot be reached
 *   MCP_ERR_MEMORY
 */
int mcp_ask_follow(mcp_exchange_t *x, const mcp_ask_stream_t *stream,
    void (*handler)(void *data, int rc), void *data, mcp_ask_t **ask);

/*
 * Brings answers to a call of another node, or tells the others of those that
 * this node takes itself, for a root; where there is none it does not wait.
 * Returns what mcp_ask() does, or
 *   MCP_ERR_LIMIT      there is no room for them
 *   MCP_ERR_NOT_FOUND  there is no such call, or nobody but this node knows it
 */
int mcp_ask_post(mcp_exchange_t *x, const mcp_ask_post_t *post);

/*
 * Subscribes a session's own stream.
 *
 * Returns MCP_AGAIN: the handler is called with what the answer is; or what
 * that is, and the handler is not called:
 *   MCP_OK
 *   MCP_ERR_NOT_FOUND  the cluster knows of no such stream, or there is none
 *   MCP_ERR_AWAY       the cluster cannot be reached
 *   MCP_ERR_MEMORY
 */
int mcp_ask_topic(mcp_worker_t *worker, const mcp_ask_topic_t *topic,
    void (*handler)(void *data, int rc), void *data);

/*
 * Has the server give the answer of x, which is made, once other nodes know the
 * stream that it names, or after a second.  In place of mcp_answer_ready().
 */
void mcp_ask_respond(mcp_exchange_t *x, const mcp_stream_ref_t *ref);

/* The same once they have an event of it, which is what the answer says.  After
 * that second x reads the stream instead, if it is its consumer. */
void mcp_ask_respond_with(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t seq);

/*
 * Asks whether a stream that was just made, and is held, is the first one of
 * those for the same.
 *
 * Returns MCP_AGAIN: then() is called, with MCP_OK, MCP_ERR_AWAY, or what
 * "safe" answers; unless x is freed; or
 *   MCP_OK  it is: there are no other nodes
 *   MCP_ERR_NOT_FOUND, MCP_ERR_MEMORY, MCP_ERR_AWAY
 */
int mcp_ask_first(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    void (*then)(mcp_exchange_t *x, int rc));

/* Returns 1 if an answer is missing: the root is to return MCP_AGAIN. */
int mcp_ask_waits(const mcp_exchange_t *x);

/* Returns 1 if nothing new may be begun, as the cluster cannot be reached. */
int mcp_ask_is_away(const mcp_worker_t *worker);

/* Lets other nodes have a stream that has just been made here; limit: see
 * share. */
void mcp_ask_share(mcp_worker_t *worker, const mcp_stream_ref_t *ref,
    uint32_t limit);

/*
 * Asks whether one more call of the session of x may begin, of limit at all
 * nodes, if it is known to have many: for a root.  Returns what mcp_ask() does,
 * or MCP_ERR_LIMIT.
 */
int mcp_ask_quota(mcp_exchange_t *x, uint32_t limit);

/*
 * Takes a token for this node, for a root; the store says which of its requests
 * has it.  Returns what mcp_ask() does, or
 *   MCP_ERR_DENIED  it is in use at another node, or was used: *value is what
 *                   was set, or 0
 */
int mcp_ask_token(mcp_exchange_t *x, const unsigned char key[MCP_DIGEST_LEN],
    uint64_t expires, uint32_t *value);

/* Says what became of a token that was taken: MCP_ASK_TOKEN_GIVE or _DROP; or,
 * with a value that is not 0, which stream its call is. */
void mcp_ask_token_told(mcp_worker_t *worker, mcp_ask_token_e what,
    const unsigned char key[MCP_DIGEST_LEN]);
void mcp_ask_token_set(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t value,
    const unsigned char stream[MCP_STREAM_ID_LEN]);

/* Runs the root again after so many ms, with all questions anew.  Returns
 * MCP_AGAIN: stop, and return this; or MCP_OK: its first run was limit ms ago,
 * or there is no cluster. */
int mcp_ask_later(mcp_exchange_t *x, uint64_t ms, uint64_t limit);

/* Tells them without waiting: what does not arrive is lost.  Returns what tell
 * does. */
int mcp_ask_nobody(mcp_worker_t *worker, const mcp_word_t *word);

/* The cluster answers: rc is what mcp_ask() is to return.  It frees ask, or
 * leaves that to the exchange. */
void mcp_ask_answer(mcp_ask_t *ask, int rc);

/* The exchange is being freed. */
void mcp_ask_leave(mcp_exchange_t *x);

/* Another node has told us: worker->heard, which mcp_worker_create() of
 * mcp_worker.h sets. */
#define mcp_ask_hear(worker, word)  ((worker)->heard(worker, word))


#endif /* MCP_ASK_H_INCLUDED */
