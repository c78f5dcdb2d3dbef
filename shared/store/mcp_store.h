/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The durable log in shared memory: streams with their events, inboxes,
 * consumers and owners; small keyed values with a time to live;
 * subscriptions; counters.  Used through an arena/lock interface by both
 * servers: the glue brings a region of memory that all processes see at the
 * same or at different addresses, and a lock.
 *
 * Owned here: the layout of the region and its repair.  Not here: what a
 * message means, what a client sees, when a call ends.
 *
 * Nothing in the region is a pointer.  Chunks of MCP_STORE_CHUNK bytes are
 * linked by 32-bit index; data is written first, lengths and sequence
 * numbers last, so that a process killed at any instant leaves streams whose
 * published part is whole.  When the lock says that its holder died,
 * everything derived (free list, hash chains, queues, counts) is rebuilt from
 * the streams themselves.
 *
 * All times are milliseconds of mcp_env_t.now.
 */


#ifndef MCP_STORE_H_INCLUDED
#define MCP_STORE_H_INCLUDED


#include "base/mcp_token.h"
#include "config/mcp_party.h"
#include "http/mcp_sse.h"


#define MCP_STORE_MIN_SIZE   (256 * 1024)
#define MCP_STORE_SLOTS      1024      /* processes */
#define MCP_STORE_CHUNK      512
#define MCP_STORE_NAME_MAX   128       /* method, name: cut for display */
#define MCP_STORE_NO_SLOT    0xffffffffu
#define MCP_STORE_ERROR      0x4000
#define MCP_STORE_RESULT(n)  ((n) << 8)    /* n: 0 to 7 */
#define MCP_STORE_ABOUT      0x2000    /* is of a request, and does not answer
                                          it */
#define MCP_STORE_READ_MIN   64        /* smallest cap of mcp_store_read() */


/* What the glue brings.  lock: MCP_OK, or MCP_AGAIN when it was acquired but
 * the holder before died with it.  wake makes the process of that slot call
 * mcp_store_drain() soon; called without the lock, also for one's own
 * slot. */
typedef struct {
    int    (*lock)(void *mutex);
    void   (*unlock)(void *mutex);
    void    *mutex;
    void   (*wake)(void *ctx, unsigned slot);
    void    *ctx;
} mcp_store_glue_t;


/* One process's handle. */
typedef struct mcp_store_s {
    struct mcp_store_head_s  *head;    /* the region */
    mcp_store_glue_t          glue;
    unsigned                  slot;
    uint64_t                  pid;     /* incarnation of the slot */
} mcp_store_t;


typedef enum {
    MCP_STREAM_CALL = 0,       /* ends with a response */
    MCP_STREAM_LISTEN          /* a session's own, has no owner */
} mcp_stream_kind_e;


typedef enum {
    MCP_STATE_PROCESSING = 0,
    MCP_STATE_INPUT_REQUIRED,
    MCP_STATE_COMPLETED,
    MCP_STATE_FAILED,          /* the response is a JSON-RPC error */
    MCP_STATE_CANCELLED
} mcp_stream_state_e;


/* A stream found: an index and the id that must still be there. */
typedef struct {
    uint32_t       index;
    unsigned char  id[MCP_STREAM_ID_LEN];
} mcp_stream_ref_t;


typedef struct {
    unsigned char       id[MCP_STREAM_ID_LEN];
    mcp_stream_kind_e   kind;
    unsigned char       session[MCP_DIGEST_LEN];
    unsigned char       principal[MCP_DIGEST_LEN];
    unsigned char       params[MCP_DIGEST_LEN];    /* digest of the params */
    unsigned            revision;
    mcp_str_t           request;       /* raw id, or raw array of the ids of a
                                          batch; any length; copied */
    mcp_str_t           method;
    mcp_str_t           name;
    uint64_t            expires;       /* LISTEN: of the session; 0 never */
    uint64_t            max_wait;      /* unattended at most so long */
    uint64_t            linger;        /* kept after the end was sent */
    unsigned            promised;      /* 1: kept for max_wait at least, until
                                          its end is confirmed */
    uint32_t            max_events;    /* 0: no limit */
    uint64_t            max_bytes;     /* 0: no limit */
    uint32_t            session_limit; /* streams that are not over and sent;
                                          0: no limit; nor is there one for
                                          the session of zeros */
    mcp_party_t         party;         /* whose room it takes */
    uint64_t            handle;        /* owner's, given back by drain */
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
    uint64_t            first_seq;     /* oldest event kept; last_seq + 1 if
                                          none */
    uint64_t            last_seq;      /* 0: no event yet */
    uint64_t            sent_seq;      /* written to a consumer's socket */
    uint64_t            confirmed_seq; /* by mcp_store_confirm(), or
                                          mcp_store_acknowledge() */
    uint64_t            answered;      /* bit k: request k has its response */
    uint64_t            failed;        /* and that is a JSON-RPC error */
    uint64_t            failed_seq;    /* the last event that is one; 0 */
    uint64_t            unattended;    /* since when; 0 while attended */
    uint64_t            bytes;         /* of events kept */
    uint32_t            alias;         /* see mcp_store_set_alias() */
    uint32_t            turn;          /* see mcp_store_set_turn() */
    uint32_t            result;        /* largest MCP_STORE_RESULT() */
    unsigned            posted;        /* 1: its owner is not through with what
                                          was posted to it */
    uint64_t            cancelled;     /* see mcp_store_take_cancelled() */
    uint32_t            takeovers;     /* since a consumer left by itself */
    unsigned            owner_slot;    /* MCP_STORE_NO_SLOT if none */
    unsigned            consumer_slot;
    uint64_t            consumer_handle;
    char                method[MCP_STORE_NAME_MAX];   /* NUL-terminated */
    char                name[MCP_STORE_NAME_MAX];
} mcp_stream_info_t;


/* Where a consumer stands. */
typedef struct {
    uint64_t  seq;             /* last event wholly copied out */
    uint32_t  chunk;           /* cached position; 0: look it up */
    uint32_t  offset;
    uint32_t  done;            /* > 0: in the middle of event seq + 1 */
    uint32_t  left;            /* and so many bytes of its message to go */
    uint32_t  check;           /* of what is cached */
    uint32_t  only;            /* for the reader to set: number + 1 of a
                                  request; 0: all events */
    uint64_t  skipped;         /* the first event that was another's; 0 */
    unsigned  resumed:1;
} mcp_cursor_t;


/* --- the region and its processes --- */

/* Formats size bytes at region (zeroed or not) as an empty store; size >=
 * MCP_STORE_MIN_SIZE.  MCP_OK; MCP_ERR_CONFIG: of that size, or there, none can
 * be; MCP_ERR_INTERNAL: no random numbers can be had. */
int mcp_store_format(void *region, size_t size);

/* MCP_OK if region holds a store of this layout version and size (it is then
 * taken over as it is, after a reload), else MCP_ERR_NOT_FOUND. */
int mcp_store_check(const void *region, size_t size);

/* Binds a handle and marks slot as living under pid.  Calls that the slot
 * owned under another pid are orphans from now on. */
int mcp_store_attach(mcp_store_t *store, void *region,
    const mcp_store_glue_t *glue, unsigned slot, uint64_t pid);

/* The process ends in an orderly way: its slot is free; streams it still
 * owned are orphans. */
void mcp_store_detach(mcp_store_t *store);

/* The pid that lives in a slot, 0 if none: for the glue's check that it
 * really does. */
uint64_t mcp_store_slot_pid(mcp_store_t *store, unsigned slot);

/* Declares a process dead (if the slot is still under that pid). */
void mcp_store_bury(mcp_store_t *store, unsigned slot, uint64_t pid);

/* Takes over one orphan (owner becomes this slot, handle 0) or returns
 * MCP_DONE.  *request gets the stored request id(s).  O(1) when there is
 * none. */
int mcp_store_adopt(mcp_store_t *store, uint64_t now, mcp_stream_info_t *info,
    mcp_buf_t *request);

/* Reports what waits for this slot: streams it owns that have an inbox,
 * room, or a consumer come or gone; streams it consumes that have events, have
 * ended, or were taken over.  Returns the number set in out (at most n);
 * call until 0. */
typedef struct {
    mcp_stream_ref_t  ref;
    uint64_t          handle;
    unsigned          owner:1;         /* else consumer */
} mcp_store_wake_t;

size_t mcp_store_drain(mcp_store_t *store, mcp_store_wake_t *out, size_t n);


/* --- streams --- */

/* MCP_OK and *ref; MCP_ERR_FULL (no room in the region, also after evicting
 * streams that are over and were sent); MCP_ERR_LIMIT (too many of the
 * session's, or its party has what it may); MCP_ERR_EXISTS (one of that id). */
int mcp_store_create(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_stream_ref_t *ref);

/* What mcp_store_create() would answer for a call, asked before a backend is
 * troubled with it: MCP_OK, MCP_ERR_LIMIT or MCP_ERR_FULL.  Mostly without the
 * lock. */
int mcp_store_admits(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t session_limit,
    const mcp_party_t *party);

/* All of these: MCP_ERR_NOT_FOUND when the stream is gone.  For who finds it
 * now, that is one which mcp_store_sweep() would free, whether that has come by
 * or not; with now 0 it is still there, as it is for mcp_store_create(). */
int mcp_store_find(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t now,
    mcp_stream_info_t *info);
int mcp_store_info(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_info_t *info);

/*
 * Walks a session's streams: those that are over, sent and unattended if
 * "sent", all others if not; the latest first that became so.  Start with
 * *position 0; MCP_OK or MCP_DONE.  request may be NULL.  One that becomes
 * the other meanwhile may be met in both walks, or if it is watched again
 * between them, in none.
 */
int mcp_store_session_next(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], int sent,
    uint64_t *position, mcp_stream_info_t *info, mcp_buf_t *request);

/*
 * Appends one message and wakes the consumer.  answers: number of the
 * request that this message answers, with MCP_STORE_ERROR if by an error and
 * MCP_STORE_RESULT(n), which means what the caller wants it to; of that which
 * it is of, with MCP_STORE_ABOUT; or -1.  state: the new state (may be the
 * old).  *seq gets its number.  MCP_OK;
 * MCP_ERR_LIMIT: as many events, or bytes, as the stream's limit allows were
 * not sent yet; MCP_ERR_FULL: the region has no room, also after evicting
 * streams that are over and were sent, and without what was sent of this one.
 * Of that as much again as the limit is kept while there is room, older events
 * are dropped; MCP_ERR_LARGE: the region is not as large as the message.  An
 * append that answers a request may exceed the stream's limit.
 * After LIMIT or FULL the owner is woken when there is room again.
 */
int mcp_store_append(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_stream_state_e state, uint64_t now,
    uint64_t *seq);

int mcp_store_set_state(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_state_e state);

/* Another name of the stream, of the caller's making, in place of the last one;
 * 0: none.  It goes with the stream.  Nothing changes when (this slot, handle)
 * is not the consumer any more. */
int mcp_store_set_alias(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint32_t alias);

/* A number, 0 at first, for the caller to give it a meaning.  It goes with the
 * stream.  MCP_ERR_DENIED: it is not from any more, so that of several who
 * change it one has done it. */
int mcp_store_set_turn(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint32_t from, uint32_t to);

/* The time for which a stream may be unattended begins anew; nothing changes
 * for one that is attended, or over and sent. */
int mcp_store_touch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t now);

/* Drops the events up to seq: a client has them.  MCP_ERR_NOT_FOUND also when
 * there is no such event yet. */
int mcp_store_confirm(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq);

/* The same, and they stay. */
int mcp_store_acknowledge(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq);

/* Frees it at once; a consumer is woken and finds it gone. */
void mcp_store_free(mcp_store_t *store, const mcp_stream_ref_t *ref);


/* Frees it, like mcp_store_free(), if it has been unattended since *since, and
 * nobody has asked after it; else MCP_AGAIN, and *since is when that began
 * anew: 0 while it is attended, or when that is not known yet (a wake comes
 * when it is). */
int mcp_store_expire(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t *since);


/* --- consumers --- */

/* Makes (this slot, handle) the stream's one consumer, taking it over from
 * another (who is woken and finds MCP_ERR_DENIED), to read after event
 * "after".  *taken is 1 if there was another.  MCP_ERR_PURGED: events after
 * it have been dropped already; MCP_ERR_NOT_FOUND also when after is beyond
 * last_seq.  What it asks for again counts as not sent.  Wakes the owner. */
int mcp_store_watch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t after, mcp_cursor_t *cursor, int *taken);

/* The consumer leaves (no-op if it is not the consumer any more); sent: the
 * last event written to its socket.  Wakes the owner. */
void mcp_store_unwatch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t sent, uint64_t now);

/*
 * Copies events after the cursor into buf in SSE form (mcp_sse.h), an event
 * larger than cap in several calls, and advances the cursor.  sent: the last
 * event that is known to be written to the socket (makes room).
 * MCP_OK: *len > 0 bytes; MCP_AGAIN: none now, a wake will come; MCP_DONE:
 * none and the stream is over; MCP_ERR_DENIED: taken over; _PURGED (happens
 * to the holder of a listener that is too slow for its limit: end the
 * connection, in the middle of an event perhaps), or the cursor is none that
 * was left by the last call; _NOT_FOUND; _LIMIT: cap is less than
 * MCP_STORE_READ_MIN.  With cursor->only it reads the events of that
 * request and those of none, without ids, and is through (MCP_DONE) when the
 * request has its response.
 */
int mcp_store_read(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, mcp_cursor_t *cursor, uint64_t sent, char *buf,
    size_t cap, size_t *len);


/* --- a call's inbox: what other processes have for its owner --- */

typedef enum {
    MCP_POST_INPUT = 1,        /* tag: 0 */
    MCP_POST_PUBLISH
} mcp_post_e;

/* MCP_ERR_LIMIT when the inbox holds more than the stream's max_bytes,
 * MCP_ERR_FULL, MCP_ERR_NOT_FOUND (also for a stream that is over). */
int mcp_store_post(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_post_e type, uint64_t tag, mcp_str_t data);

/* Takes the oldest: MCP_OK (data appended to buf), MCP_AGAIN if empty: what was
 * taken counts as posted until then, and the consumer is woken. */
int mcp_store_take(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_post_e *type, uint64_t *tag, mcp_buf_t *data);

/* Cancels requests, a bit for each, and wakes the owner.  It takes no room,
 * passes what was posted, and counts as posted.  MCP_ERR_NOT_FOUND also for a
 * stream that is over. */
int mcp_store_cancel(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t requests);

/* Those that were cancelled since it was asked last, for the owner, who looks
 * into the inbox afterwards; 0: none. */
uint64_t mcp_store_take_cancelled(mcp_store_t *store,
    const mcp_stream_ref_t *ref);


/* --- small values: 16-byte key, purpose, 32-bit value, expiry (0: never)
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
     * session and id; value 1.  The exchange that takes the cancellation writes
     * it, and the process that has the call finds it. */
    MCP_VALUE_CANCELLED = 'c',

    /* A token of mcp_face_token.c that was used, by its digest; the value says
     * which call it has led to.  The face writes it when the token comes back,
     * and again when the call is kept. */
    MCP_VALUE_TOKEN_USED = 'n'
} mcp_value_e;


/* party: whose value it is if there was none, may be NULL.  MCP_OK;
 * MCP_ERR_LIMIT: it has as many as it may; MCP_ERR_FULL. */
int mcp_store_value_set(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, const mcp_party_t *party);

/* The same, but what has no room takes the place of the party's oldest value
 * that was pushed, which is forgotten; its first one is asked for no quota.
 * MCP_OK, MCP_ERR_FULL. */
int mcp_store_value_push(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, const mcp_party_t *party);
int mcp_store_value_get(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now,
    uint32_t *value);                  /* MCP_OK, MCP_ERR_NOT_FOUND; without
                                          the lock when there is no value of
                                          that purpose at all */

/* Only if there is none that has not expired (or MCP_ERR_DENIED), at once:
 * for what may be used once. */
int mcp_store_value_add(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, uint64_t now, const mcp_party_t *party);
void mcp_store_value_delete(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN]);


/* --- subscriptions of LISTEN streams --- */

/* Idempotent.  MCP_OK; MCP_ERR_LIMIT: the stream has thousands; MCP_ERR_FULL;
 * MCP_ERR_NOT_FOUND: no such stream, no listener, or it is over. */
int mcp_store_subscribe(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN]);
int mcp_store_unsubscribe(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN]);

/* How many there are to a topic. */
uint64_t mcp_store_subscribers(mcp_store_t *store,
    const unsigned char topic[MCP_DIGEST_LEN]);

/* Appends message to every subscribed stream, at most budget of them a call;
 * start with *position 0, repeat while MCP_AGAIN; *n is raised by their
 * number, from 0 at the start.  A listener
 * at its limit drops its oldest events (its client is told by
 * MCP_ERR_PURGED when it resumes before them). */
int mcp_store_publish(mcp_store_t *store,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message,
    unsigned budget, uint64_t *position, size_t *n);


/* --- time --- */

/*
 * Looks at up to budget chunks, going round, and frees what is due: streams
 * that are over and unattended for linger (all sent, and, where more was
 * promised, confirmed) or max_wait (not all); listeners whose session expired,
 * or unattended for max_wait, with their subscriptions; expired values.
 * report (may be NULL) is called, without the lock, for each stream that still
 * had unsent events.  Returns the number freed.
 */
size_t mcp_store_sweep(mcp_store_t *store, uint64_t now, unsigned budget,
    void (*report)(void *ctx, const mcp_stream_info_t *info), void *ctx);


/* --- counters --- */

typedef enum {
    MCP_COUNT_REQUESTS = 0,    /* HTTP requests */
    MCP_COUNT_MESSAGES,        /* JSON-RPC messages in */
    MCP_COUNT_SESSIONS,        /* initialize answered */
    MCP_COUNT_SESSIONS_DELETED,
    MCP_COUNT_CALLS,           /* backend calls begun */
    MCP_COUNT_CALLS_LIVE,      /* gauge */
    MCP_COUNT_CALLS_FAILED,    /* answered with an error response */
    MCP_COUNT_CALLS_TOOL_ERRORS,
    MCP_COUNT_CALLS_CANCELLED,
    MCP_COUNT_CALLS_EXPIRED,   /* max wait */
    MCP_COUNT_CALLS_LOST,      /* owner died */
    MCP_COUNT_CONSUMERS_LIVE,  /* gauge: SSE connections */
    MCP_COUNT_EVENTS,          /* appended */
    MCP_COUNT_RESUMES,
    MCP_COUNT_TAKEOVERS,
    MCP_COUNT_STREAMS_EXPIRED,
    MCP_COUNT_STREAMS_EVICTED,
    MCP_COUNT_EVENTS_DROPPED,  /* unsent ones, listeners only */
    MCP_COUNT_REFUSED_FULL,
    MCP_COUNT_REFUSED_LIMIT,
    MCP_COUNT_ERRORS,          /* answered: of HTTP, of JSON-RPC */
    MCP_COUNT_PUBLISHED,       /* messages, at the publish endpoint */
    MCP_COUNT_INPUTS,          /* input requests sent to clients */
    MCP_COUNT_REPAIRS,
    MCP_COUNT_MAX
} mcp_counter_e;

/* The store itself counts STREAMS_EXPIRED, STREAMS_EVICTED, EVENTS_DROPPED
 * and REPAIRS, its users the rest. */

/* Lock-free.  A gauge's share of a dead slot is taken back by bury/attach:
 * gauges are kept per slot, plain counters in one place. */
void mcp_store_count(mcp_store_t *store, mcp_counter_e counter, int64_t delta);

/* How many MCP_COUNT_REFUSED_FULL there are that no process was told of by this
 * function, if that was at least interval ago for all of them; else 0. */
uint64_t mcp_store_refused(mcp_store_t *store, uint64_t now,
    uint64_t interval);

typedef struct {
    int64_t   counter[MCP_COUNT_MAX];
    uint64_t  size;            /* bytes for chunks */
    uint64_t  used;            /* bytes of chunks in use */
    uint64_t  streams;         /* in the store */
    uint64_t  listeners;
    uint64_t  values;
    uint64_t  subscriptions;
} mcp_store_stats_t;

void mcp_store_stats(mcp_store_t *store, mcp_store_stats_t *stats);


#endif /* MCP_STORE_H_INCLUDED */
