/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The store: the durable log that a server's processes share.  It keeps
 * streams with their events, inboxes, owners and consumers; small values with
 * a time to live; subscriptions; and counters.
 *
 * This is the interface of a synchronous engine on shared memory: every
 * function returns with its result, takes the lock for a few microseconds, and
 * never waits for input or output.  Callers rely on that, and need answers of
 * mcp_store_find() or mcp_store_value_get() on the spot.  A store that has to
 * ask another machine cannot stand behind this header; one that copies to
 * other machines can.
 *
 * The store owns the layout of the region and its repair.  It does not know
 * what a message means, what a client sees, or when a call ends.
 *
 * The glue brings a region of memory, which its processes may see at different
 * addresses, and a lock.  Nothing in the region is a pointer.  Data is written
 * before the lengths and numbers that make it count, so that a process killed
 * between any two instructions leaves sound streams.  When the lock's holder
 * has died, the next process that takes the lock rebuilds whatever is derived:
 * the list of free chunks, hash chains, queues and counts.
 *
 * All times are milliseconds of mcp_env_t.now.
 *
 * Every function that returns an int may return
 *   MCP_ERR_INTERNAL  the lock cannot be taken, or this process was declared
 *                     dead
 * beside the results listed with it.
 */


#ifndef MCP_STORE_H_INCLUDED
#define MCP_STORE_H_INCLUDED


#include "base/mcp_token.h"
#include "config/mcp_party.h"
#include "http/mcp_sse.h"
#include "rpc/mcp_revision.h"


#define MCP_STORE_MIN_SIZE   (256 * 1024)
#define MCP_STORE_SLOTS      1024      /* processes */
#define MCP_STORE_CHUNK      512       /* bytes */
#define MCP_STORE_NAME_MAX   128       /* method, name: cut for display */
#define MCP_STORE_NO_SLOT    0xffffffffu
#define MCP_STORE_READ_MIN   64        /* smallest cap of mcp_store_read() */

/* Added to the number of a request in mcp_store_append(). */
#define MCP_STORE_RESULT(n)  ((n) << 8)    /* a meaning of the caller's, 0-7 */
#define MCP_STORE_ABOUT      0x2000    /* concerns the request, but does not
                                          answer it */
#define MCP_STORE_ERROR      0x4000    /* the answer is an error */


/* What the glue brings. */
typedef struct {

    /* Returns MCP_OK, MCP_AGAIN when the lock was acquired but its last holder
     * died with it, or an error. */
    int    (*lock)(void *mutex);
    void   (*unlock)(void *mutex);
    void    *mutex;

    /* Makes the process in a slot call mcp_store_drain() soon.  It is called
     * without the lock, also for the caller's own slot. */
    void   (*wake)(void *ctx, unsigned slot);
    void    *ctx;
} mcp_store_glue_t;


/* The handle of one process. */
typedef struct mcp_store_s {
    struct mcp_store_head_s  *head;    /* the region */
    mcp_store_glue_t          glue;
    unsigned                  slot;
    uint64_t                  pid;     /* incarnation of the slot */
    uint32_t                  live;    /* hint of mcp_store_live.c */

    /* Notes that a consumer of this process is to be woken for an event; called
     * with the lock.  0, or NULL here: mcp_store_drain() will say so. */
    int                     (*note)(void *noter, uint64_t handle);
    void                     *noter;
} mcp_store_t;


typedef enum {
    MCP_STREAM_CALL = 0,       /* has an owner, ends with a response */
    MCP_STREAM_LISTEN          /* a session's listener, has no owner */
} mcp_stream_kind_e;


typedef enum {
    MCP_STATE_PROCESSING = 0,
    MCP_STATE_INPUT_REQUIRED,

    /* final: the stream is over, and has no owner any more */
    MCP_STATE_COMPLETED,
    MCP_STATE_FAILED,          /* the response is a JSON-RPC error */
    MCP_STATE_CANCELLED
} mcp_stream_state_e;


/* A reference to a stream: its place, and the id that must still be there. */
typedef struct {
    uint32_t       index;
    unsigned char  id[MCP_STREAM_ID_LEN];
} mcp_stream_ref_t;


/* What a stream is created from. */
typedef struct {
    unsigned char       id[MCP_STREAM_ID_LEN];
    mcp_stream_kind_e   kind;
    unsigned char       session[MCP_DIGEST_LEN];
    unsigned char       principal[MCP_DIGEST_LEN];
    unsigned char       params[MCP_DIGEST_LEN];    /* digest of the params */
    unsigned            revision;
    mcp_str_t           request;       /* raw id, or raw array of a batch's ids;
                                          any length; copied */
    mcp_str_t           method;
    mcp_str_t           name;
    uint64_t            expires;       /* LISTEN: of the session; 0: never */
    uint64_t            max_wait;      /* kept so long without a consumer */
    uint64_t            linger;        /* kept so long after the end was sent */
    unsigned            promised;      /* 1: kept for max_wait at least, until
                                          its end is confirmed */
    uint32_t            max_events;    /* unsent; 0: no limit */
    uint64_t            max_bytes;     /* unsent; 0: no limit */
    uint32_t            session_limit; /* streams of the session that do not
                                          linger; 0, or a session of zeros: no
                                          limit */
    mcp_party_t         party;         /* pays for the room */
    uint64_t            handle;        /* the owner's, for mcp_store_drain() */
    uint64_t            consumer;      /* its handle: has a consumer from the
                                          beginning, of the same slot, that
                                          mcp_store_watch() follows; 0: none */
    const unsigned char  *join;        /* digest by which others find it to join
                                          it; NULL: they may not */
    unsigned            join_once;     /* 1: until it is over and was sent */
    unsigned            join_known;    /* 1: to find it, a mirror will do that
                                          nobody reads: it is new */
    unsigned            held;          /* 1: not before it is released */
    unsigned char       joins[MCP_DIGEST_LEN];     /* where "join" points to, in
                                          what was read back */
} mcp_stream_spec_t;


typedef struct {
    mcp_stream_ref_t    ref;
    mcp_stream_kind_e   kind;
    mcp_stream_state_e  state;
    unsigned char       session[MCP_DIGEST_LEN];
    unsigned char       principal[MCP_DIGEST_LEN];
    unsigned            revision;
    uint64_t            created;
    uint64_t            max_wait;
    uint64_t            expires;       /* of a task; 0: it is none */
    uint64_t            kept;          /* since when it is one */
    uint64_t            changed;       /* its last event, or state */
    uint64_t            first_seq;     /* oldest event kept; last_seq + 1: none
                                          is */
    uint64_t            last_seq;      /* 0: no event yet */
    uint64_t            own_seq;       /* the same for the owner, who goes on
                                          while readers of a shared stream wait
                                          for last_seq; other things are as of
                                          last_seq */
    uint64_t            own_answered;  /* and answered, failed, for the owner */
    uint64_t            own_failed;
    unsigned            mirror;        /* its call runs on another machine */
    unsigned            shared;        /* other machines have it, too */
    unsigned            ahead;         /* shared, or a mirror, and the owner has
                                          got further than what counts here */
    unsigned            held;          /* nobody may join it yet, or ever */
    unsigned            attended;      /* it has a consumer, on whatever
                                          machine, as far as is known */
    unsigned            safe;          /* 0: shared, and nothing of it is acked
                                          yet: nobody may be told its id */
    uint64_t            sent_seq;      /* written to a consumer's socket */
    uint64_t            confirmed_seq; /* by mcp_store_confirm() or
                                          mcp_store_acknowledge() */
    uint64_t            answered;      /* bit k: request k has its response */
    uint64_t            failed;        /* bit k: and that is an error */
    uint64_t            failed_seq;    /* the last event that is an error; 0 */
    uint64_t            unattended;    /* without a consumer since then; 0:
                                          attended, or not known yet */
    uint64_t            bytes;         /* of events kept */
    uint32_t            alias;         /* see mcp_store_set_alias() */
    uint32_t            turn;          /* see mcp_store_set_turn() */
    uint32_t            result;        /* largest MCP_STORE_RESULT() */
    unsigned            posted;        /* 1: posts or cancellations wait for the
                                          owner, or it is at work on them */
    uint64_t            cancelled;     /* see mcp_store_take_cancelled() */
    uint32_t            takeovers;     /* since a consumer left by itself */
    unsigned            owner_slot;    /* MCP_STORE_NO_SLOT: none */
    unsigned            consumer_slot;
    uint64_t            consumer_handle;
    char                method[MCP_STORE_NAME_MAX];   /* NUL-terminated */
    char                name[MCP_STORE_NAME_MAX];
} mcp_stream_info_t;


/* Where a consumer stands. */
typedef struct {
    uint64_t  seq;             /* last event copied out as a whole */
    uint32_t  chunk;           /* cached position; 0: to be looked up */
    uint32_t  offset;
    uint32_t  done;            /* > 0: in the middle of event seq + 1 */
    uint32_t  left;            /* bytes of its message that follow */
    uint32_t  check;           /* checksum of what is cached */
    uint32_t  only;            /* set by the reader: number + 1 of the request
                                  whose events it wants; 0: all events */
    uint64_t  skipped;         /* first event that was another's; 0: none */
    uint64_t  total;           /* bytes of all events that there were up to
                                  seq; 0: not known */
    unsigned  resumed:1;
    unsigned  plain:1;         /* set by the reader: it wants no event ids */
    unsigned  all:1;           /* see mcp_store_read() */
    char      id[MCP_STREAM_TEXT_LEN];     /* of the stream, once one of its
                                              events was read */
} mcp_cursor_t;


/* --- the region and its processes --- */

/*
 * Formats size bytes at region, zeroed or not, as an empty store.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    size is out of range, or region not 8-byte aligned
 *   MCP_ERR_INTERNAL  there are no random numbers
 */
int mcp_store_format(void *region, size_t size);

/*
 * Looks whether a region holds a store that this code can take over as it is,
 * after a reload.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is none of this layout version and size
 */
int mcp_store_check(const void *region, size_t size);

/*
 * Binds a handle to a slot and marks the slot as living under pid.  Calls that
 * the slot owned under another pid become orphans.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    no such slot, or pid is 0
 *   MCP_ERR_INTERNAL  the region is no store
 */
int mcp_store_attach(mcp_store_t *store, void *region,
    const mcp_store_glue_t *glue, unsigned slot, uint64_t pid);

/* Frees the slot of a process that ends in an orderly way.  Streams that it
 * still owned become orphans. */
void mcp_store_detach(mcp_store_t *store);

/* Returns the pid that lives in a slot, or 0: for the glue to check that the
 * process really lives. */
uint64_t mcp_store_slot_pid(mcp_store_t *store, unsigned slot);

/* Declares a process dead, if the slot is still under that pid. */
void mcp_store_bury(mcp_store_t *store, unsigned slot, uint64_t pid);

/*
 * Makes this slot the owner of one orphan, with the handle 0, and appends the
 * stored request id(s) to request.  Takes no lock when there is no orphan.  A
 * shared stream that is over may be among them, for this process to copy: it
 * has no owner even then.
 *
 * Returns MCP_OK, or
 *   MCP_DONE  there is no orphan
 */
int mcp_store_adopt(mcp_store_t *store, uint64_t now, mcp_stream_info_t *info,
    mcp_buf_t *request);

/* As what a process learns that something waits for it. */
typedef enum {
    MCP_WAKE_OWNER = 0,
    MCP_WAKE_CONSUMER,         /* or one who has joined */
    MCP_WAKE_COPY              /* of a shared stream, see mcp_store_share.h */
} mcp_store_wake_e;

typedef struct {
    mcp_stream_ref_t  ref;
    uint64_t          handle;
    mcp_store_wake_e  kind;
} mcp_store_wake_t;

/*
 * Reports what waits for this process: streams that it owns, when there is a
 * post, room, or another consumer; streams that it consumes, when there are
 * events, when they have ended, or when another consumer has taken over; shared
 * streams that it copies, when anything of them has changed or they are gone.
 *
 * Returns how many are set in out, at most n.  Call it until it returns 0.
 */
size_t mcp_store_drain(mcp_store_t *store, mcp_store_wake_t *out, size_t n);


/* --- streams --- */

/*
 * Creates a stream and sets *ref.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_EXISTS  there is a stream of this id, or one to join
 *   MCP_ERR_DENIED  there is one to join, but it has other params
 *   MCP_ERR_LIMIT   the session, or the party, has as many as it may
 *   MCP_ERR_FULL    the region has no room, even after eviction
 */
int mcp_store_create(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_stream_ref_t *ref);

/*
 * Says what mcp_store_create() would answer for a call, before a backend is
 * asked.  Mostly takes no lock.
 *
 * Returns MCP_OK, MCP_ERR_LIMIT or MCP_ERR_FULL.
 */
int mcp_store_admits(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t session_limit,
    const mcp_party_t *party);

/*
 * Every function below that takes a ref may return
 *   MCP_ERR_NOT_FOUND  the stream is gone
 * beside the results listed with it.
 */

/*
 * Finds a stream by its id.  One that mcp_store_sweep() would free at "now"
 * counts as gone; with now 0 it does not, as it does not for
 * mcp_store_create().
 */
int mcp_store_find(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t now,
    mcp_stream_info_t *info);
int mcp_store_info(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_info_t *info);

/*
 * Walks a session's streams: with "sent" those that linger (over, sent and
 * unattended) and mirrors that nobody reads, without it all others; in each
 * walk the latest first.  Start with *position 0.  request may be NULL.
 *
 * A stream that begins to linger meanwhile may be met in both walks.  One that
 * is watched again between the two walks may be met in none.
 *
 * Returns MCP_OK and the next stream, or
 *   MCP_DONE  there are no more
 */
int mcp_store_session_next(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], int sent,
    uint64_t *position, mcp_stream_info_t *info, mcp_buf_t *request);

/*
 * Appends one message, sets *seq to its number, changes the state to "state"
 * (which may be the old one), and wakes the consumer.  answers: the number of
 * the request that the message answers, with MCP_STORE_ERROR and
 * MCP_STORE_RESULT(); or of the request that it concerns, with MCP_STORE_ABOUT;
 * or -1.
 *
 * The stream's limits are for events that were not sent yet.  As much again is
 * kept of those that were sent, as long as there is room.  A message that
 * answers a request may exceed the limits.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream is gone, or over
 *   MCP_ERR_LIMIT      too many events, or bytes, were not sent yet; the owner
 *                      is woken when there is room
 *   MCP_ERR_FULL       the region, or the party's quota, has no room, even
 *                      after eviction and without the events that were sent;
 *                      the owner is woken when there is room
 *   MCP_ERR_LARGE      the message would not fit an empty region, or the
 *                      party's whole quota
 */
int mcp_store_append(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_stream_state_e state, uint64_t now,
    uint64_t *seq);

/*
 * Changes the state without a message.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream is gone, or over in another state
 */
int mcp_store_set_state(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_state_e state, uint64_t now);

/* Gives the stream another name, a number of the caller's making, in place of
 * the last one; 0: none.  Nothing changes unless (this slot, handle) is the
 * consumer. */
int mcp_store_set_alias(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint32_t alias);

/*
 * Changes a number, 0 at first, that means what its users want it to.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED  the number is not "from": of several who change it from
 *                   there one succeeds
 */
int mcp_store_set_turn(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint32_t from, uint32_t to);

/* Starts the time without a consumer anew.  Nothing changes for a stream that
 * is attended, or over and sent. */
int mcp_store_touch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t now);

/*
 * Notes that a client has the events up to seq, and drops them.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream is gone, or has no such event yet
 */
int mcp_store_confirm(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq);

/* Does the same, but keeps the events. */
int mcp_store_acknowledge(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq);

/* Frees a stream at once.  Its consumer is woken and finds it gone. */
void mcp_store_free(mcp_store_t *store, const mcp_stream_ref_t *ref);

/* Does the same with a stream whose owner is to give its call up: it is woken,
 * too, even if it is of this process, and finds the stream gone. */
void mcp_store_revoke(mcp_store_t *store, const mcp_stream_ref_t *ref);

/*
 * Frees a stream that has been without a consumer since *since, and was not
 * touched after that.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN  it is kept; *since is when its time without a consumer began
 *              anew, or 0: there is a consumer, or that time is not known yet
 *              and a wake comes when it is
 */
int mcp_store_expire(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t *since);


/* --- consumers --- */

/*
 * Makes (this slot, handle) the stream's one consumer, to read the events after
 * "after", and wakes the owner.  Events that it asks for again count as not
 * sent.  If there was another consumer, *taken is 1, and that one is woken and
 * finds MCP_ERR_DENIED.
 *
 * Returns MCP_OK and the cursor, or
 *   MCP_ERR_NOT_FOUND  the stream is gone, or has no event "after" yet
 *   MCP_ERR_PURGED     events after "after" have been dropped
 *   MCP_ERR_DENIED     the reader that was named (mcp_store_share.h) has been
 *                      displaced by one elsewhere
 */
int mcp_store_watch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t after, mcp_cursor_t *cursor, int *taken);

/* Takes the consumer away, if it still is the consumer, and wakes the owner.
 * sent: the last event written to its socket. */
void mcp_store_unwatch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t sent, uint64_t now);

/*
 * Copies the events after the cursor into buf as SSE text (mcp_sse.h), an event
 * larger than cap in several calls, and advances the cursor.  sent: the last
 * event known to be written to the socket, which makes room.
 *
 * cursor->all: there are no more events now, and nobody waits for room, so that
 * it need not be said that these were written before there is a wake.
 *
 * With cursor->only it reads, without ids, the events of that request and
 * those that concern no request, and is done when the request has its response.
 *
 * Returns MCP_OK and *len > 0, or
 *   MCP_AGAIN          there are no events now; a wake comes when there are
 *   MCP_DONE           there are none, and the stream is over
 *   MCP_ERR_LIMIT      cap is less than MCP_STORE_READ_MIN
 *   MCP_ERR_DENIED     another consumer has taken over
 *   MCP_ERR_PURGED     the next event has been dropped, as happens to the
 *                      reader of a listener that is too slow for its limit: end
 *                      the connection, in the middle of an event perhaps; or
 *                      the cursor is not as the last call left it
 *   MCP_ERR_NOT_FOUND  the stream is gone
 */
int mcp_store_read(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, mcp_cursor_t *cursor, uint64_t sent, char *buf,
    size_t cap, size_t *len);


/* --- those who join a call: who reads a stream beside its consumer --- */

/* How many may at a time. */
#define MCP_STORE_READERS  32

/*
 * Finds the stream to join by what it was created with: join, join_once and
 * params.  One that was cancelled, or is due to be freed, is none; nor is a
 * mirror that nobody keeps up, unless join_known is set.  info is about the
 * task, too, that a mirror is elsewhere.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is none
 *   MCP_ERR_DENIED     it has other params
 */
int mcp_store_join_find(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_stream_info_t *info);

/* Lets others join a stream that was created held, and wakes who waits. */
void mcp_store_join_release(mcp_store_t *store, const mcp_stream_ref_t *ref);

/*
 * Lets (this slot, handle) read a stream after the event "after", as
 * mcp_store_read() does for the consumer, whom it leaves alone.  It counts as
 * someone who reads, and is woken as the consumer is, and when that one leaves.
 * Events are not kept for it: it may find MCP_ERR_PURGED, and go on with what
 * is kept.  But a stream without a consumer goes on as fast as the fastest
 * reader.  It ends with mcp_store_unwatch().
 *
 * Returns MCP_OK and the cursor, or
 *   MCP_ERR_NOT_FOUND  the stream is gone, or nobody may join it
 *   MCP_ERR_LIMIT      there are as many readers as there may be
 *   MCP_ERR_FULL       the region has no room
 */
int mcp_store_join(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t after, mcp_cursor_t *cursor);


/*
 * --- tasks: calls that nobody reads and everybody may look at ---
 *
 * A task's stream is kept until a fixed time, is never evicted before, and
 * counts as one of its party's until then.  Of its events only the last one is
 * kept, so that no limit ever stops its owner.
 */

/* The most questions that one event of a task may have. */
#define MCP_STORE_QUESTIONS  32

/*
 * Makes a task of a call, which may be over, until a time that is not 0.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream is gone, or a listener
 */
int mcp_store_keep(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t expires, uint64_t now);

/* What a look at a task finds, at one moment. */
typedef struct {
    mcp_stream_info_t   info;
    uint64_t            seq;           /* of its last event; 0: there is none */
    mcp_stream_state_e  state;         /* that it came with */
    uint32_t            given;         /* bit k: question k of that event has
                                          its answer */
} mcp_store_look_t;

/*
 * Looks at a task, and appends its last event to buf.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN       it goes on changing too fast
 *   MCP_ERR_LIMIT   the buffer does not take so much
 *   MCP_ERR_MEMORY
 */
int mcp_store_look(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_look_t *look, mcp_buf_t *buf);

/*
 * The same as its owner sees it.  A client that answers may have been asked at
 * another node, before this one knows that others have the question.  Nothing
 * of this is for a client's eyes: it may still be lost.
 */
int mcp_store_look_ahead(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_look_t *look, mcp_buf_t *buf);


/* --- a call's inbox: what other processes have for its owner --- */

typedef enum {
    MCP_POST_INPUT = 1,        /* tag: 0 */
    MCP_POST_PUBLISH,
    MCP_POST_TASK,             /* of mcp_store_answer(); tag: the event */
    MCP_POST_LIMIT             /* other nodes know that its session has too
                                  many; without data */
} mcp_post_e;

/*
 * Posts answers to questions of a task's event, a bit for each, of which it has
 * those in "all".  With the last one the state is PROCESSING at once.
 *
 * Returns what mcp_store_post() does, or
 *   MCP_AGAIN  that is not the last event any more, or another process was
 *              quicker with some of these answers: look again
 */
int mcp_store_answer(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq, uint32_t bits, uint32_t all, mcp_str_t data, uint64_t now);

/*
 * Posts data to a call's owner and wakes it.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream is gone or over, or a listener
 *   MCP_ERR_LIMIT      the inbox would hold more than the stream's max_bytes
 *   MCP_ERR_FULL       the region has no room, even after eviction
 */
int mcp_store_post(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_post_e type, uint64_t tag, mcp_str_t data);

/*
 * Takes the oldest post and appends its data to the buffer.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN       the inbox is empty: now the posts that were taken count as
 *                   dealt with, and the consumer is woken
 *   MCP_ERR_LIMIT   the buffer does not take so much
 *   MCP_ERR_MEMORY  there is no memory
 */
int mcp_store_take(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_post_e *type, uint64_t *tag, mcp_buf_t *data);

/*
 * Numbers cancellations, so that one concerns only requests that began before
 * it.  mcp_store_count_cancel() returns the number of a new cancellation;
 * mcp_store_cancels() returns that of the last one, 0 at first.  Numbers wrap,
 * and processes share them.
 */
uint32_t mcp_store_count_cancel(mcp_store_t *store);
uint32_t mcp_store_cancels(const mcp_store_t *store);

/*
 * Cancels requests, a bit for each, and wakes the owner.  It needs no room,
 * overtakes posts, and counts as one.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream is gone or over, or a listener
 */
int mcp_store_cancel(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t requests);

/* Returns the requests that were cancelled since the last call, for the owner,
 * who looks into the inbox afterwards; 0: none. */
uint64_t mcp_store_take_cancelled(mcp_store_t *store,
    const mcp_stream_ref_t *ref);


/* --- small values: purpose, 16-byte key, 32-bit value, expiry (0: never)
 * --- */

/* What a value is for, and who writes it.  The numbers stand in the zone. */
typedef enum {
    /* An ended session, by its id; value 1.  The exchange that serves DELETE
     * writes it, to stay until the session's token expires. */
    MCP_VALUE_SESSION_ENDED = 'd',

    /* The least log level that a session wants, by its id.  The exchange that
     * serves logging/setLevel writes it. */
    MCP_VALUE_LOG_LEVEL = 'l',

    /* A cancelled request whose call has no stream yet, by the digest of its
     * session and id; the value is that of mcp_store_count_cancel().  The
     * exchange that takes the cancellation writes it, and the process that has
     * the call finds it. */
    MCP_VALUE_CANCELLED = 'c',

    /* A token of mcp_face_token.c that was used, by its digest; the value says
     * which call it has led to.  The face writes it when the token comes back,
     * and again when the call is kept. */
    MCP_VALUE_TOKEN_USED = 'n',

    /* A session that has many calls at all nodes, by its id; value 1.  The
     * process that hears of it writes it. */
    MCP_VALUE_CROWDED = 'q',

    /* What a list was in the configuration that is served, by its topic in its
     * place (mcp_topic.h).  The first process of the next one replaces it. */
    MCP_VALUE_LIST = 'L',

    /* The configuration whose first process has begun, or has told of all that
     * is new, by the keys of mcp_reload.c.  That process sets it. */
    MCP_VALUE_CONFIGURATION = 'C'
} mcp_value_e;

/*
 * Sets a value.  A new one is the party's; NULL: nobody's.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT  the party has as many as it may
 *   MCP_ERR_FULL   the region has no room
 */
int mcp_store_value_set(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, const mcp_party_t *party);

/*
 * Sets a value that may give way: a new one that has no room takes the place of
 * the party's oldest pushed value, which is forgotten.  No quota refuses the
 * party's first one.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL  the region has no room
 */
int mcp_store_value_push(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, const mcp_party_t *party);

/*
 * Sets a value and *old to what it was, in one step.  A new one gives way as
 * one that is pushed does.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there was none, now there is one
 *   MCP_ERR_FULL       there was none, and the region has no room
 */
int mcp_store_value_swap(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    const mcp_party_t *party, uint32_t *old);

/*
 * Gets a value.  Takes no lock when there is no value of that purpose.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is none, or it has expired
 */
int mcp_store_value_get(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now,
    uint32_t *value);

/*
 * Sets a value if there is none, in one step: for what may be used once.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED  there is one that has not expired
 *   MCP_ERR_LIMIT   the party has as many as it may
 *   MCP_ERR_FULL    the region has no room
 */
int mcp_store_value_add(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, uint64_t now, const mcp_party_t *party);
void mcp_store_value_delete(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN]);


/* --- subscriptions of listeners --- */

/*
 * Subscribes a listener to a topic, or does nothing if it is subscribed.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream is gone or over, or no listener
 *   MCP_ERR_LIMIT      it has thousands of subscriptions, or they are more
 *                      than its party's bytes
 *   MCP_ERR_FULL       the region has no room
 */
int mcp_store_subscribe(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN]);
int mcp_store_unsubscribe(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN]);

/* Returns how many subscriptions to a topic there are. */
uint64_t mcp_store_subscribers(mcp_store_t *store,
    const unsigned char topic[MCP_DIGEST_LEN]);

/*
 * Appends a message to every subscribed stream, at most budget of them in a
 * call.  Start with *position 0; *n counts the streams.  A listener at its
 * limit drops its oldest events, and its client finds MCP_ERR_PURGED when it
 * resumes before them.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN  there are more: call again
 */
int mcp_store_publish(mcp_store_t *store,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message,
    unsigned budget, uint64_t *position, size_t *n);

/* The same to some of them, see mcp_store_share.h; ms and n are where the
 * message stands in what nodes are told, or 0. */
typedef enum {
    MCP_PUBLISH_ALL = 0,
    MCP_PUBLISH_UNSHARED,
    MCP_PUBLISH_SHARED
} mcp_publish_e;

typedef struct {
    mcp_publish_e  which;
    uint64_t       ms;
    uint64_t       n;
} mcp_publish_to_t;

int mcp_store_publish_to(mcp_store_t *store,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message,
    const mcp_publish_to_t *to, unsigned budget, uint64_t *position,
    size_t *n);

/* The same to one stream, if it is subscribed: at most 64 KiB. */
void mcp_store_publish_one(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message);


/* --- time --- */

/*
 * Visits the next budget chunks, round and round, and frees what is due:
 * streams that are over and had no consumer for linger (if all was sent, and
 * confirmed where that was promised) or max_wait (if not); listeners whose
 * session expired, or without a consumer for max_wait, with their
 * subscriptions; expired values.
 *
 * report, which may be NULL, is called without the lock for each stream that
 * had unsent events.
 *
 * Returns how many streams and values were freed.
 */
size_t mcp_store_sweep(mcp_store_t *store, uint64_t now, unsigned budget,
    void (*report)(void *ctx, const mcp_stream_info_t *info), void *ctx);


/* --- counters --- */

/* The store itself counts STREAMS_EXPIRED, STREAMS_EVICTED, EVENTS,
 * EVENTS_DROPPED and REPAIRS, its users the rest. */
typedef enum {
    MCP_COUNT_REQUESTS = 0,    /* HTTP requests */
    MCP_COUNT_MESSAGES,        /* JSON-RPC messages received */
    MCP_COUNT_SESSIONS,        /* initialize answered */
    MCP_COUNT_SESSIONS_DELETED,
    MCP_COUNT_CALLS,           /* backend calls begun */
    MCP_COUNT_CALLS_LIVE,      /* gauge */
    MCP_COUNT_CALLS_FAILED,    /* answered with an error response */
    MCP_COUNT_CALLS_TOOL_ERRORS,
    MCP_COUNT_CALLS_CANCELLED,
    MCP_COUNT_CALLS_EXPIRED,   /* max_wait was over */
    MCP_COUNT_CALLS_LOST,      /* the owner died */
    MCP_COUNT_CONSUMERS_LIVE,  /* gauge: SSE connections */
    MCP_COUNT_EVENTS,          /* appended */
    MCP_COUNT_RESUMES,
    MCP_COUNT_TAKEOVERS,
    MCP_COUNT_STREAMS_EXPIRED,
    MCP_COUNT_STREAMS_EVICTED,
    MCP_COUNT_EVENTS_DROPPED,  /* unsent ones, of listeners only */
    MCP_COUNT_REFUSED_FULL,
    MCP_COUNT_REFUSED_LIMIT,
    MCP_COUNT_ERRORS,          /* answered: of HTTP, of JSON-RPC */
    MCP_COUNT_PUBLISHED,       /* messages, at the publish endpoint */
    MCP_COUNT_INPUTS,          /* input requests sent to clients */
    MCP_COUNT_REPAIRS,
    MCP_COUNT_HEADERS,         /* requests whose headers differ from them */
    MCP_COUNT_VERSIONS,        /* requests of revisions that are not served */
    MCP_COUNT_STATES,          /* request states refused */
    MCP_COUNT_JOINED,          /* calls that joined another one */
    MCP_COUNT_REVISION,        /* requests; the first of one for each number
                                  of a revision */
    MCP_COUNT_MAX = MCP_COUNT_REVISION + MCP_REVISION_LIMIT
} mcp_counter_e;

/* Adds delta, without the lock.  Gauges are kept for each slot, so that the
 * share of a dead process can be taken back; counters stand in one place. */
void mcp_store_count(mcp_store_t *store, mcp_counter_e counter, int64_t delta);

/* Returns how many MCP_COUNT_REFUSED_FULL were counted since this function last
 * reported any, in whatever process; 0 if that was less than interval ago. */
uint64_t mcp_store_refused(mcp_store_t *store, uint64_t now,
    uint64_t interval);

typedef struct {
    int64_t   counter[MCP_COUNT_MAX];
    uint64_t  size;            /* bytes for chunks */
    uint64_t  used;            /* bytes of chunks in use */
    uint64_t  streams;         /* in the store */
    uint64_t  listeners;
    uint64_t  values;          /* but for lists and configurations */
    uint64_t  subscriptions;
} mcp_store_stats_t;

void mcp_store_stats(mcp_store_t *store, mcp_store_stats_t *stats);


#endif /* MCP_STORE_H_INCLUDED */
