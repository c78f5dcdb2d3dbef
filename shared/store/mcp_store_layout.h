/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The insides of the store, shared by its own files only:
 *
 *   mcp_store_region.c       format, lock, sweep, counters
 *   mcp_store_slot.c         processes: attach, drain, bury, adopt
 *   mcp_store_chunk.c        chunks, lists, private chains
 *   mcp_store_log.c          records in a chain of chunks
 *   mcp_store_find.c         streams by id or reference, their description
 *   mcp_store_create.c       a new stream
 *   mcp_store_stream.c       states, end and time of a stream
 *   mcp_store_session.c      the streams of a session
 *   mcp_store_append.c       append, limits, room
 *   mcp_store_inbox.c        post, take, cancel
 *   mcp_store_consumer.c     watch, unwatch, read
 *   mcp_store_party.c        what each party has
 *   mcp_store_quota.c        what each party may have
 *   mcp_store_evict.c        who makes room for others
 *   mcp_store_entry.c        entries and groups
 *   mcp_store_value.c        small values
 *   mcp_store_topic.c        subscriptions, publish
 *   mcp_store_repair.c       a repair, and its first half: chunks
 *   mcp_store_repair_log.c   a log walked and mended
 *   mcp_store_repair_link.c  its second half: hashes, groups, lists
 *
 * docs/internals/store.md tells how it fits together.
 *
 * Two kinds of reference: the index of a chunk (0: none), and a "ref", the
 * distance from the region's start in units of 8 bytes (0: none), for
 * entries and list links.
 */


#ifndef MCP_STORE_LAYOUT_H_INCLUDED
#define MCP_STORE_LAYOUT_H_INCLUDED


#include <stdatomic.h>

#include "store/mcp_store.h"


#define MCP_STORE_MAGIC      0x4d43502d53544f52ULL
#define MCP_STORE_VERSION    9

#define MCP_STORE_SIZE_MAX   (32ULL * 1024 * 1024 * 1024)  /* of 32-bit refs */

/* A message longer than this is copied before the lock is taken. */
#define MCP_STORE_BIG        (64 * 1024)

/* The longest message. */
#define MCP_STORE_LEN_MAX    0x7fffffffu

/* Chunks that one hold of the lock takes for a private chain. */
#define MCP_STORE_BATCH      1024

/* Chunks between two marks of a log, see mcp_store_log_seek(). */
#define MCP_STORE_MARK       64

/* The reserve, in chunks: 1/32 within these bounds. */
#define MCP_STORE_RESERVE_MIN  8
#define MCP_STORE_RESERVE_MAX  2048

/* Chunks that a stream takes at least, with its first event. */
#define MCP_STORE_LEAST        4

/* Of so many chunks each one may be for a call, for a listener, or for
 * values. */
#define MCP_STORE_CALLS        4
#define MCP_STORE_LISTENERS    2
#define MCP_STORE_VALUES       8

/* Shares: the last one of so many parts is for who has little, which is one of
 * so many. */
#define MCP_STORE_LAST         8
#define MCP_STORE_LITTLE       128

/* Ranks of parties, by their size. */
#define MCP_STORE_RANKS        128

/* quota of a stream whose party has none. */
#define MCP_STORE_NO_QUOTA     UINT32_MAX

/* owner_slot of a stream whose owner died. */
#define MCP_STORE_ORPHAN     0xfffffffeu

/* The end of a list: 0 says "in no list". */
#define MCP_STORE_END        0xffffffffu

#define mcp_store_align8(n)  (((n) + 7) & ~(uint32_t) 7)


/*
 * A process may be killed between any two instructions; what it has stored
 * until then is there.  So only the compiler has to be kept from moving
 * stores across the points that repair relies on.
 */
#define mcp_store_barrier()  atomic_signal_fence(memory_order_seq_cst)


typedef struct {
    uint32_t  prev;                    /* refs of links; 0: in no list */
    uint32_t  next;
} mcp_store_link_t;


typedef struct {
    uint32_t  first;                   /* ref of a link; 0: empty */
    uint32_t  last;
} mcp_store_list_t;


/* --- chunks --- */

/* What the byte per chunk says.  Only roots have a type: whether another
 * chunk is free or holds data follows from who refers to it. */
enum {
    MCP_CHUNK_NONE = 0,
    MCP_CHUNK_STREAM,
    MCP_CHUNK_ENTRY,
    MCP_CHUNK_MARK,                    /* of repair and verification */
    MCP_CHUNK_FREE                     /* of verification */
};


#define MCP_CHUNK_HEAD  32
#define MCP_CHUNK_ROOM  (MCP_STORE_CHUNK - MCP_CHUNK_HEAD)

typedef struct {
    uint32_t  next;
    uint32_t  skip;                    /* mark: the next mark; first chunk of
                                          a private chain: the next one */
    uint16_t  used;                    /* offset of the data's end */
    uint16_t  first;                   /* of the first record that starts
                                          here; 0: none does */
    uint32_t  count;                   /* first of a private chain: chunks */
    uint64_t  seq;                     /* of the first record */
    uint64_t  total;                   /* payload of all records before it */
    char      data[MCP_CHUNK_ROOM];
} mcp_store_chunk_t;


typedef struct {
    uint32_t  first;
    uint32_t  last;
    uint32_t  count;
} mcp_store_chain_t;


typedef struct {
    uint32_t  chunk;
    uint32_t  offset;
} mcp_store_pos_t;


/* --- logs --- */

/* At an offset that is a multiple of 8, never across chunks; the payload
 * that follows may be. */
typedef struct {
    uint32_t  len;
    uint16_t  answers;                 /* event: number of the request + 1,
                                          MCP_STORE_RESULT(), MCP_STORE_ERROR;
                                          or MCP_STORE_ABOUT */
    uint16_t  type;                    /* event: state; inbox: mcp_post_e */
    uint64_t  seq;
} mcp_store_record_t;


#define MCP_RECORD_HEAD  ((uint32_t) sizeof(mcp_store_record_t))


/* Empty: head 0, first last + 1.  "last" is what commits an append. */
typedef struct {
    uint32_t  head;
    uint32_t  tail;
    uint32_t  offset;                  /* of record "first" in head */
    uint32_t  mark;                    /* the last one */
    uint32_t  since;                   /* chunks since that */
    uint32_t  chunks;
    uint64_t  first;
    uint64_t  last;
    uint64_t  bytes;                   /* of payload */
    uint64_t  total;                   /* the same, with all dropped */
} mcp_store_log_t;


/* --- streams --- */

enum {
    MCP_LINK_OWNER = 0,                /* dirty list of the owner's slot, or
                                          the orphans */
    MCP_LINK_CONSUMER,                 /* dirty list of the consumer's slot */
    MCP_LINK_SESSION,                  /* the session's, latest first */
    MCP_LINK_IDLE,                     /* the party's listeners that may be
                                          evicted, idle longest first */
    MCP_LINK_LINGER,                   /* its streams that linger, so longest
                                          first */
    MCP_LINK_RANK,                     /* the first of either, with those of
                                          other parties of about that size */
    MCP_LINK_HUNGRY,                   /* owner waits for room in the region */
    MCP_LINK_MAX
};


/* A ghost is what is left of a stream, or of a consumer's place in one,
 * until the processes that must know of its end have drained it. */
#define MCP_STREAM_LIVE   0x6c697665u
#define MCP_STREAM_GHOST  0x676f6e65u


typedef struct {
    uint32_t           next;           /* hash chain; scratch of repair */
    uint32_t           live;           /* written last */

    unsigned char      id[MCP_STREAM_ID_LEN];
    unsigned char      session[MCP_DIGEST_LEN];
    unsigned char      principal[MCP_DIGEST_LEN];
    unsigned char      party[MCP_DIGEST_LEN];
    unsigned char      params[MCP_DIGEST_LEN];

    uint32_t           self;           /* ghost: index of the stream it was */
    uint32_t           ordinal;        /* grows with every stream */
    uint32_t           session_group;  /* refs of entries */
    uint32_t           party_group;
    mcp_store_link_t   link[MCP_LINK_MAX];
    mcp_store_list_t   subs;
    uint32_t           n_subs;
    uint32_t           revision;

    uint32_t           text;           /* chain: method, name, request */
    uint32_t           text_chunks;
    uint32_t           request_len;
    uint16_t           method_len;
    uint16_t           name_len;

    uint8_t            kind;
    uint8_t            state;
    uint8_t            want_room;      /* the owner waits, after LIMIT */
    uint8_t            taken;          /* its owner is at a post */
    uint32_t           need;           /* chunks, while hungry */

    uint32_t           owner_slot;
    uint32_t           consumer_slot;
    uint64_t           owner_handle;
    uint64_t           consumer_handle;

    uint64_t           created;
    uint64_t           expires;
    uint64_t           max_wait;
    uint64_t           linger;
    uint64_t           unattended;     /* 0 without a consumer: not known yet,
                                          the next sweep sets it */
    uint64_t           ended;          /* the same */

    uint32_t           max_events;
    uint32_t           joined;         /* an ordinal: of when it came into its
                                          list of the session */
    uint64_t           max_bytes;
    uint32_t           alias;
    uint32_t           turn;
    uint32_t           promised;
    uint32_t           quota;          /* chunks of its party; 0: a share */
    uint32_t           seen;           /* LISTEN: had a reader, or waits for one
                                          for a while: may be evicted */
    uint32_t           result;         /* the largest of its answers */
    uint32_t           takeovers;      /* since a consumer left by itself */
    uint32_t           spare;

    uint64_t           confirmed_seq;  /* a client has said that it has it */
    uint64_t           sent_seq;
    uint64_t           sent_bytes;     /* of events kept, up to that; derived */
    uint64_t           applied_seq;    /* whose effect on what follows is done
                                          */
    uint64_t           answered;
    uint64_t           failed;
    uint64_t           failed_seq;
    uint64_t           cancelled;      /* not taken yet by its owner; 0: over */

    mcp_store_log_t    events;
    mcp_store_log_t    inbox;
} mcp_store_stream_t;


/* --- entries --- */

enum {
    MCP_ENTRY_FREE = 0,
    MCP_ENTRY_VALUE,
    MCP_ENTRY_SUB,
    MCP_ENTRY_SESSION,                 /* groups: derived, see repair */
    MCP_ENTRY_PARTY,
    MCP_ENTRY_TOPIC,
    MCP_ENTRY_MAX
};


/* A party's lists. */
enum {
    MCP_EVICT_IDLE = 0,
    MCP_EVICT_LINGER,
    MCP_EVICT_MAX
};


typedef struct {
    uint32_t       next;               /* hash chain; scratch of repair */
    uint8_t        kind;               /* written last */
    uint8_t        purpose;
    uint8_t        pushed;             /* a value that may give way */
    uint8_t        rank;               /* of a party, by its chunks */
    unsigned char  key[MCP_DIGEST_LEN];

    union {
        struct {
            uint64_t          expires;
            uint32_t          value;
            uint32_t          group;   /* of the party; 0: nobody's */
            unsigned char     party[MCP_DIGEST_LEN];
            mcp_store_link_t  ring;    /* the party's others that were pushed */
        } value;

        struct {
            uint32_t          stream;
            uint32_t          ordinal;
            mcp_store_link_t  topic;   /* newest first */
            mcp_store_link_t  peer;    /* the stream's others */
        } sub;

        struct {
            mcp_store_list_t  list;    /* streams or subscriptions */
            mcp_store_list_t  sent;    /* streams that linger */
            uint32_t          count;   /* members */
            uint32_t          active;  /* of them not lingering */
        } group;

        struct {
            mcp_store_list_t  list[MCP_EVICT_MAX];
            uint32_t          streams; /* calls that do not linger */
            uint32_t          listeners;
            uint32_t          values;
            uint32_t          chunks;  /* of all its streams */
            uint32_t          held;    /* of those in neither list */
            uint32_t          pushed;  /* the newest's ring, whose next is the
                                          oldest; 0: none */
        } party;
    } u;
} mcp_store_entry_t;


#define MCP_STORE_ENTRIES  7

typedef struct {
    mcp_store_link_t   partial;        /* chunks with a free entry */
    uint32_t           used;           /* bit per entry */
    uint32_t           spare[5];
    mcp_store_entry_t  entry[MCP_STORE_ENTRIES];
} mcp_store_entries_t;


/* --- the region --- */

enum {
    MCP_GAUGE_CALLS = 0,
    MCP_GAUGE_CONSUMERS,
    MCP_GAUGE_MAX
};


typedef struct {
    _Atomic uint64_t   pid;            /* 0: nobody */
    _Atomic uint32_t   pending;        /* woken, has not emptied its list */
    uint32_t           reserved;       /* private chains */
    mcp_store_list_t   dirty;
    _Atomic int64_t    gauge[MCP_GAUGE_MAX];
    uint64_t           spare[3];
} mcp_store_slot_t;


typedef struct mcp_store_head_s {
    uint64_t           magic;
    uint32_t           version;
    uint32_t           layout;         /* sizes of the structures */
    uint64_t           size;
    uint64_t           seed[2];        /* of the hash */

    uint64_t           types;          /* offsets */
    uint64_t           stream_hash;
    uint64_t           entry_hash;
    uint64_t           base;           /* of chunk 0, which does not exist */
    uint32_t           stream_mask;
    uint32_t           entry_mask;
    uint32_t           chunks;         /* 1..chunks */
    uint32_t           reserve;

    uint32_t           holder;         /* slot + 1 of who holds the lock */
    uint32_t           fresh;          /* chunks from here were never used */
    uint32_t           free;           /* chain of those given back */
    uint32_t           n_free;
    uint32_t           ordinal;
    uint32_t           hand;           /* of the sweep */
    uint32_t           n_streams;
    uint32_t           n_listeners;
    uint32_t           n_values;
    uint32_t           n_subs;
    uint32_t           n_calls;        /* that do not linger */
    uint32_t           evictable;      /* chunks of streams that may be evicted
                                          */
    _Atomic uint32_t   n_orphans;
    _Atomic uint32_t   hint_room;      /* after the last hold of the lock */
    _Atomic uint32_t   hint_calls;

    mcp_store_list_t   orphans;
    mcp_store_list_t   rank[MCP_EVICT_MAX][MCP_STORE_RANKS];
    mcp_store_list_t   hungry;
    mcp_store_list_t   partial;

    _Atomic int64_t    counter[MCP_COUNT_MAX];
    _Atomic int64_t    refused;        /* of REFUSED_FULL, that were told of */
    _Atomic uint64_t   refused_at;     /* when; 0: never */
    _Atomic uint32_t   purpose[256];   /* values of each */
    mcp_store_slot_t   slots[MCP_STORE_SLOTS];
} mcp_store_head_t;


/* One hold of the lock; the wakes go out after it. */
typedef struct {
    mcp_store_t       *store;
    mcp_store_head_t  *head;
    const unsigned char  *party;       /* for whom room is made; NULL: for the
                                          store itself */
    mcp_store_stream_t   *keep;        /* is worked on: not evicted */
    unsigned           wakes;
    uint64_t           wake[MCP_STORE_SLOTS / 64];
} mcp_store_op_t;


static inline mcp_store_chunk_t *
mcp_store_chunk(mcp_store_head_t *head, uint32_t index)
{
    return (mcp_store_chunk_t *) ((char *) head + head->base
                                  + (size_t) index * MCP_STORE_CHUNK);
}


static inline mcp_store_stream_t *
mcp_store_stream(mcp_store_head_t *head, uint32_t index)
{
    return (mcp_store_stream_t *) mcp_store_chunk(head, index);
}


static inline int
mcp_store_index_ok(const mcp_store_head_t *head, uint32_t index)
{
    return index > 0 && index <= head->chunks;
}


static inline unsigned char *
mcp_store_types(mcp_store_head_t *head)
{
    return (unsigned char *) head + head->types;
}


/* The chunk that something in the region lies in. */
static inline uint32_t
mcp_store_index(mcp_store_head_t *head, const void *p)
{
    return (uint32_t) (((size_t) ((const char *) p - (char *) head)
                        - head->base) / MCP_STORE_CHUNK);
}


static inline void *
mcp_store_at(mcp_store_head_t *head, uint32_t ref)
{
    return (char *) head + (size_t) ref * 8;
}


static inline uint32_t
mcp_store_ref(mcp_store_head_t *head, const void *p)
{
    return (uint32_t) ((size_t) ((const char *) p - (char *) head) / 8);
}


#define mcp_store_container(head, ref, type, member)                          \
    ((type *) ((char *) mcp_store_at(head, ref) - offsetof(type, member)))


/* Whether something was made before something else, by their ordinals, which
 * may wrap. */
static inline int
mcp_store_older(uint32_t a, uint32_t b)
{
    return (int32_t) (a - b) < 0;
}


static inline int
mcp_store_final(const mcp_store_stream_t *st)
{
    return st->state >= MCP_STATE_COMPLETED;
}


/* Chunks that so many bytes fill. */
static inline uint32_t
mcp_store_chunks(size_t len)
{
    return (uint32_t) ((len + MCP_CHUNK_ROOM - 1) / MCP_CHUNK_ROOM);
}


static inline uint64_t
mcp_store_log_count(const mcp_store_log_t *log)
{
    return log->last + 1 - log->first;
}


/* --- mcp_store_region.c --- */

/* MCP_OK, or MCP_ERR_INTERNAL when the lock cannot be had. */
int mcp_store_enter(mcp_store_t *store, mcp_store_op_t *op);
void mcp_store_leave(mcp_store_op_t *op);

static inline void
mcp_store_add(mcp_store_head_t *head, mcp_counter_e counter, int64_t n)
{
    atomic_fetch_add_explicit(&head->counter[counter], n,
                              memory_order_relaxed);
}


/* --- mcp_store_slot.c --- */

void mcp_store_mark_owner(mcp_store_op_t *op, mcp_store_stream_t *st);
void mcp_store_mark_consumer(mcp_store_op_t *op, mcp_store_stream_t *st);
void mcp_store_unmark(mcp_store_op_t *op, mcp_store_stream_t *st,
    unsigned role);
void mcp_store_wake_slot(mcp_store_op_t *op, unsigned slot);

/* Frees a ghost for which nobody waits. */
void mcp_store_ghost_settle(mcp_store_op_t *op, mcp_store_stream_t *ghost);


/* --- mcp_store_chunk.c --- */

/* Chunks that can be had: with the reserve, if "all". */
uint32_t mcp_store_room(const mcp_store_head_t *head, int all);

/* Evicts until n chunks can be had: MCP_OK or MCP_ERR_FULL. */
int mcp_store_ensure(mcp_store_op_t *op, uint32_t n, int all);

/* Takes n chunks that mcp_store_ensure() has promised; empty data chunks,
 * linked. */
void mcp_store_chain_take(mcp_store_op_t *op, uint32_t n,
    mcp_store_chain_t *chain);

/* Gives back a whole chain, at once. */
void mcp_store_chain_free(mcp_store_op_t *op, uint32_t first, uint32_t last,
    uint32_t count);

/* The same for one whose last chunk or length is not known. */
void mcp_store_chain_drop(mcp_store_op_t *op, uint32_t first);

/* One chunk for a root; zeroed. */
uint32_t mcp_store_root_take(mcp_store_op_t *op, unsigned char type);
void mcp_store_root_free(mcp_store_op_t *op, uint32_t index);

/* Both copy along a chain and move pos; copy_out returns how many bytes
 * there were. */
void mcp_store_copy_in(mcp_store_head_t *head, mcp_store_pos_t *pos,
    const void *data, size_t len);
size_t mcp_store_copy_out(mcp_store_head_t *head, mcp_store_pos_t *pos,
    void *data, size_t len);

/*
 * A private chain: filled without the lock, then put where it belongs.  skip
 * bytes are left out at its start; party: see mcp_store_op_t.  MCP_OK,
 * MCP_ERR_FULL or MCP_ERR_INTERNAL.
 */
int mcp_store_private_make(mcp_store_t *store, const mcp_str_t *parts,
    size_t n, uint32_t skip, int all, const unsigned char *party,
    mcp_store_chain_t *chain);

/* With the lock held: the chain is the caller's (or MCP_ERR_INTERNAL, when
 * this process was declared dead meanwhile). */
int mcp_store_private_claim(mcp_store_op_t *op, mcp_store_chain_t *chain);

/* The private chains of a slot that is no more. */
void mcp_store_private_reclaim(mcp_store_op_t *op, unsigned slot);

void mcp_store_list_append(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link);
void mcp_store_list_prepend(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link);

/* No-op for what is in no list. */
void mcp_store_list_remove(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link);

static inline int
mcp_store_linked(const mcp_store_link_t *link)
{
    return link->next != 0;
}


/* --- mcp_store_log.c --- */

/* Chunks that mcp_store_log_append() will take, besides the last one there is;
 * mcp_store_log_attach() has all that it needs. */
uint32_t mcp_store_log_need(mcp_store_head_t *head, const mcp_store_log_t *log,
    size_t len);

/* rec: len, answers, type; seq is set.  MCP_OK or MCP_ERR_FULL. */
int mcp_store_log_append(mcp_store_op_t *op, mcp_store_log_t *log,
    mcp_store_record_t *rec, const mcp_str_t *parts, size_t n, int all);

/* The same with a private chain that holds the payload already. */
void mcp_store_log_attach(mcp_store_op_t *op, mcp_store_log_t *log,
    mcp_store_record_t *rec, const mcp_store_chain_t *chain);

/* Moves from a record to its end. */
void mcp_store_log_pass(mcp_store_head_t *head, mcp_store_pos_t *pos,
    uint32_t len);

/* The record at pos, or where the next one begins; NULL at the end. */
mcp_store_record_t *mcp_store_log_record(mcp_store_head_t *head,
    mcp_store_pos_t *pos);

/* Payload bytes of the records from..to, which are kept; takes as long as a
 * seek, however many they are. */
uint64_t mcp_store_log_bytes(mcp_store_head_t *head,
    const mcp_store_log_t *log, uint64_t from, uint64_t to);

/* Finds a record that is kept: 0 if it is not there. */
int mcp_store_log_seek(mcp_store_head_t *head, const mcp_store_log_t *log,
    uint64_t seq, mcp_store_pos_t *pos);

/* Drops the oldest record. */
void mcp_store_log_drop(mcp_store_op_t *op, mcp_store_log_t *log);
void mcp_store_log_clear(mcp_store_op_t *op, mcp_store_log_t *log);

/* A record begins in a chunk that was just linked: every so many chunks one
 * becomes a mark, which leads from mark to mark. */
void mcp_store_log_mark(mcp_store_head_t *head, mcp_store_log_t *log,
    uint32_t index, uint32_t chunks);


/* --- mcp_store_find.c --- */

mcp_store_stream_t *mcp_store_stream_get(mcp_store_op_t *op,
    const mcp_stream_ref_t *ref);

/* mcp_store_enter(), but MCP_ERR_NOT_FOUND without the lock when the stream is
 * gone. */
int mcp_store_stream_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st);
mcp_store_stream_t *mcp_store_stream_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN]);
void mcp_store_stream_link(mcp_store_head_t *head, uint32_t index);
void mcp_store_stream_unlink(mcp_store_head_t *head, uint32_t index);
void mcp_store_stream_info(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_stream_info_t *info);

/* Appends the stored request id(s); MCP_ERR_MEMORY or MCP_ERR_LIMIT are in
 * buf->failed. */
void mcp_store_stream_request(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_buf_t *buf);


/* --- mcp_store_stream.c --- */

void mcp_store_stream_free(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Changes the state of a stream; nothing else does.  What follows from a final
 * state is up to the caller. */
void mcp_store_stream_turn(mcp_store_stream_t *st, mcp_stream_state_e state);

/* Notes which request a committed event answers, and how. */
void mcp_store_stream_answer(mcp_store_stream_t *st,
    const mcp_store_record_t *rec);

/* What follows from a committed event. */
void mcp_store_stream_apply(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_record_t *rec, uint64_t now);

/* Puts the stream into its party's lists of those that may be evicted, or takes
 * it out. */
void mcp_store_stream_settle(mcp_store_op_t *op, mcp_store_stream_t *st);

int mcp_store_stream_settled(const mcp_store_stream_t *st);

/* 1 when due to be freed. */
int mcp_store_stream_due(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);


/* --- mcp_store_append.c --- */

/* Raises sent_seq. */
void mcp_store_stream_seen(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent);
void mcp_store_stream_sent(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent);

/* Appends to a listener, dropping what is in the way; the message is in the
 * chain, if there is one. */
void mcp_store_stream_publish(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_str_t message, const mcp_store_chain_t *chain);

/* The same when the message is big, without the lock. */
void mcp_store_stream_publish_big(mcp_store_t *store,
    const mcp_stream_ref_t *ref, mcp_str_t message);


/* --- mcp_store_session.c --- */

/* Puts a stream that is in no list of its session into the one for those that
 * linger, or the other; it is the latest there. */
void mcp_store_session_enter(mcp_store_head_t *head,
    mcp_store_entry_t *session, mcp_store_stream_t *st);

/* Moves a stream that has begun to linger, or has ceased to, to the other of
 * its session's lists; it is the latest there. */
void mcp_store_session_move(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Takes a stream out of its session, whose group may end. */
void mcp_store_session_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Whether a session has as many streams as it may (0: no limit; nor has the
 * session of zeros one). */
int mcp_store_session_crowded(mcp_store_head_t *head,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t limit);


/* --- mcp_store_party.c --- */

static inline mcp_store_entry_t *
mcp_store_party_of(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return mcp_store_at(head, st->party_group);
}

/* The first stream of one of a party's lists, or NULL. */
static inline mcp_store_stream_t *
mcp_store_party_first(mcp_store_head_t *head, const mcp_store_entry_t *party,
    unsigned k)
{
    uint32_t  ref;

    ref = party->u.party.list[k].first;

    return ref ? mcp_store_container(head, ref, mcp_store_stream_t,
                                     link[MCP_LINK_IDLE + k])
               : NULL;
}

int mcp_store_party_is_nobody(const unsigned char id[MCP_DIGEST_LEN]);

/* A stream comes to its party's group, or leaves it, which may be its end. */
void mcp_store_party_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *party);
void mcp_store_party_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Puts a stream into the right one of its party's lists, or takes it out. */
void mcp_store_party_settle(mcp_store_op_t *op, mcp_store_stream_t *st);
int mcp_store_stream_idle(const mcp_store_stream_t *st);

/* One of a stream's logs has n chunks more; or less, modulo 2^32. */
void mcp_store_party_resize(mcp_store_op_t *op, const mcp_store_log_t *log,
    uint32_t n);

/* A value comes to its party's group (NULL: no room), or leaves it. */
mcp_store_entry_t *mcp_store_party_value_enter(mcp_store_op_t *op,
    const unsigned char id[MCP_DIGEST_LEN]);
void mcp_store_party_value_leave(mcp_store_op_t *op, uint32_t group);

/* A value comes as the newest to its party's ring of those that may give way,
 * or leaves it (no-op for what is in none); the oldest of it, or NULL. */
void mcp_store_party_push(mcp_store_op_t *op, mcp_store_entry_t *e);
void mcp_store_party_pull(mcp_store_op_t *op, mcp_store_entry_t *e);
mcp_store_entry_t *mcp_store_party_oldest(mcp_store_op_t *op,
    const mcp_party_t *party);


/* --- mcp_store_quota.c --- */

/* What a party's quota of bytes is for its streams. */
uint32_t mcp_store_party_quota(const mcp_party_t *party);

/* Whether a stream may take n chunks more, as far as its party is concerned;
 * and whether it never may so many at once. */
int mcp_store_party_allows(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, int answer);
int mcp_store_party_large(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n);

int mcp_store_party_may_create(mcp_store_op_t *op, const mcp_party_t *party,
    mcp_stream_kind_e kind, uint32_t chunks);
int mcp_store_party_may_value(mcp_store_op_t *op, const mcp_party_t *party);


/* --- mcp_store_evict.c --- */

/* Whom op may evict next: first listeners that are idle, its own before those
 * of the largest party; then of streams that linger its own, and those of the
 * largest party if that is larger than its own.  NULL: nobody. */
mcp_store_stream_t *mcp_store_victim(mcp_store_op_t *op);


/* --- mcp_store_consumer.c --- */

/* Leaves a ghost for the consumer, so that it finds out. */
void mcp_store_consumer_displace(mcp_store_op_t *op, mcp_store_stream_t *st);
void mcp_store_consumer_gone(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);


/* --- mcp_store_entry.c --- */

uint64_t mcp_store_hash(const mcp_store_head_t *head, uint32_t salt,
    const unsigned char key[16]);
void mcp_store_entry_insert(mcp_store_head_t *head, mcp_store_entry_t *e);

/* An entry that is nothing yet, or NULL when full; and what makes it
 * something. */
mcp_store_entry_t *mcp_store_entry_take(mcp_store_op_t *op, int all);
void mcp_store_entry_publish(mcp_store_head_t *head, mcp_store_entry_t *e,
    unsigned kind);

/* The subscription (stream) or group or value (0) of that key. */
mcp_store_entry_t *mcp_store_entry_find(mcp_store_head_t *head, unsigned kind,
    unsigned purpose, const unsigned char key[16], uint32_t stream);

/* Gives an entry back, and its chunk when it was the last there. */
void mcp_store_entry_free(mcp_store_op_t *op, mcp_store_entry_t *e);

/* Finds or makes a group; NULL when full. */
mcp_store_entry_t *mcp_store_group(mcp_store_op_t *op, unsigned kind,
    const unsigned char key[16]);

/* One member less. */
void mcp_store_group_leave(mcp_store_op_t *op, uint32_t ref);


/* --- mcp_store_topic.c --- */

/* Puts a subscription into the lists it belongs to. */
void mcp_store_sub_link(mcp_store_head_t *head, mcp_store_entry_t *topic,
    mcp_store_entry_t *e);
void mcp_store_sub_free(mcp_store_op_t *op, mcp_store_entry_t *e);


/* --- mcp_store_value.c --- */

/* Values that there can be: clients make them, so they get an eighth of the
 * region, and the rest is for streams. */
static inline uint32_t
mcp_store_values_max(const mcp_store_head_t *head)
{
    return head->chunks / MCP_STORE_VALUES * MCP_STORE_ENTRIES;
}

/* Frees the expired values of an entry chunk; returns how many. */
size_t mcp_store_values_expire(mcp_store_op_t *op, uint32_t index,
    uint64_t now);


/* --- mcp_store_repair.c --- */

void mcp_store_repair(mcp_store_op_t *op);


/* --- mcp_store_repair_log.c --- */

/* Walks the whole log, setting every chunk's type byte to mark (none may have
 * it before), and says in *out what it should look like; the last record in
 * *rec.  With "fix" the chunks' own derived parts are set right.  0 if it is
 * broken. */
int mcp_store_log_scan(mcp_store_head_t *head, const mcp_store_log_t *log,
    int fix, mcp_store_log_t *out, mcp_store_record_t *rec);

/* The same, and *log is set right; 0 if it is broken. */
int mcp_store_repair_log(mcp_store_head_t *head, mcp_store_log_t *log,
    mcp_store_record_t *rec);


/* --- mcp_store_repair_link.c --- */

/* Values and subscriptions, then streams. */
void mcp_store_repair_insert(mcp_store_op_t *op);
void mcp_store_repair_links(mcp_store_op_t *op);


#endif /* MCP_STORE_LAYOUT_H_INCLUDED */
