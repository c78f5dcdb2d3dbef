/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The layout of the region, and what the store's files share.  Nothing outside
 * of this folder, but for tests, includes it.
 *
 *   mcp_store_region.c       format, lock, sweep, counters
 *   mcp_store_slot.c         processes: attach, drain, bury, adopt
 *   mcp_store_chunk.c        chunks, lists, private chains
 *   mcp_store_log.c          records in a chain of chunks
 *   mcp_store_find.c         streams by id or reference, their description
 *   mcp_store_create.c       a new stream
 *   mcp_store_stream.c       states, end and time of a stream
 *   mcp_store_session.c      the streams of a session
 *   mcp_store_limit.c        what a stream keeps within its limits
 *   mcp_store_append.c       append, room in the region
 *   mcp_store_inbox.c        post, take, cancel
 *   mcp_store_task.c         tasks: keep, look
 *   mcp_store_consumer.c     watch, unwatch, read
 *   mcp_store_join.c         the calls that others may join
 *   mcp_store_reader.c       those who read beside the consumer
 *   mcp_store_share.c        streams that are copied elsewhere, the gate
 *   mcp_store_copy.c         what their copier reads and says
 *   mcp_store_remote.c       their consumer, when it is elsewhere
 *   mcp_store_mirror.c       where streams of elsewhere are read
 *   mcp_store_party.c        what each party has
 *   mcp_store_quota.c        what each party may have
 *   mcp_store_evict.c        who makes room for others
 *   mcp_store_entry.c        entries and groups
 *   mcp_store_value.c        small values
 *   mcp_store_topic.c        subscriptions, publish
 *   mcp_store_tally.c        what became of calls
 *   mcp_store_live.c         calls that run
 *   mcp_store_node.c         the zone as a node of a cluster
 *   mcp_store_repair.c       a repair, and its first half: chunks
 *   mcp_store_repair_log.c   logs, walked and repaired
 *   mcp_store_repair_link.c  its second half: hashes, groups, lists
 *
 * docs/internals/store.md explains how it works.
 *
 * There are two kinds of reference: the index of a chunk, and a "ref", the
 * distance from the region's start in units of 8 bytes, for entries and list
 * links.  0 is none.
 */


#ifndef MCP_STORE_LAYOUT_H_INCLUDED
#define MCP_STORE_LAYOUT_H_INCLUDED


#include <stdatomic.h>

#include "store/mcp_store_node.h"
#include "store/mcp_store_share.h"
#include "store/mcp_store_tally.h"


#define MCP_STORE_MAGIC      0x4d43502d53544f52ULL
#define MCP_STORE_VERSION    19

#define MCP_STORE_SIZE_MAX   (32ULL * 1024 * 1024 * 1024)  /* of 32-bit refs */

/* A message longer than this is copied before the lock is taken. */
#define MCP_STORE_BIG        (64 * 1024)

/* The longest message. */
#define MCP_STORE_LEN_MAX    0x7fffffffu

/* Chunks taken for a private chain in one hold of the lock. */
#define MCP_STORE_BATCH      1024

/* Chunks between two marks of a log, see mcp_store_log_seek(). */
#define MCP_STORE_MARK       64

/* The reserve: 1/32 of all chunks, within these bounds. */
#define MCP_STORE_RESERVE_MIN  8
#define MCP_STORE_RESERVE_MAX  2048

/* Chunks that a stream with its first event takes at least. */
#define MCP_STORE_LEAST        4

/* One of so many chunks may be a call, one a listener, one full of values. */
#define MCP_STORE_CALLS        4
#define MCP_STORE_LISTENERS    2
#define MCP_STORE_VALUES       8

/* Shares: the last eighth is for parties that have little, which is less than
 * 1/128 of all. */
#define MCP_STORE_LAST         8
#define MCP_STORE_LITTLE       128

/* Ranks of parties by their size: four to each power of two. */
#define MCP_STORE_RANKS        128

/* The quota of a stream whose party has none. */
#define MCP_STORE_NO_QUOTA     UINT32_MAX

/* The owner_slot of a stream whose owner died. */
#define MCP_STORE_ORPHAN     0xfffffffeu

/* Ends a list; a link of 0 is in no list. */
#define MCP_STORE_END        0xffffffffu

#define mcp_store_align8(n)  (((n) + 7) & ~(uint32_t) 7)


/*
 * A process may be killed between any two instructions, and what it has stored
 * by then stays.  So only the compiler must not move stores across the points
 * that a repair relies on.
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

/* The type byte of a chunk.  Only roots have a type: whether another chunk is
 * free or holds data follows from what refers to it. */
enum {
    MCP_CHUNK_NONE = 0,
    MCP_CHUNK_STREAM,
    MCP_CHUNK_ENTRY,
    MCP_CHUNK_SHARE,
    MCP_CHUNK_MARK,                    /* while a repair, or a test, looks */
    MCP_CHUNK_FREE                     /* while a test looks */
};


#define MCP_CHUNK_HEAD  32
#define MCP_CHUNK_ROOM  (MCP_STORE_CHUNK - MCP_CHUNK_HEAD)

typedef struct {
    uint32_t  next;
    uint32_t  skip;                    /* of a mark: the next mark; of a private
                                          chain's first: the next chain */
    uint16_t  used;                    /* offset of the data's end */
    uint16_t  first;                   /* of the first record that starts
                                          here; 0: none does */
    uint32_t  count;                   /* of a private chain's first: chunks */
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

/* The head of a record stands at a multiple of 8 and never crosses chunks; the
 * payload that follows may. */
typedef struct {
    uint32_t  len;
    uint16_t  answers;                 /* of an event: number of the request
                                          + 1, with MCP_STORE_RESULT(), _ERROR
                                          or _ABOUT */
    uint16_t  type;                    /* of an event: state; of a post:
                                          mcp_post_e */
    uint64_t  seq;
} mcp_store_record_t;


#define MCP_RECORD_HEAD  ((uint32_t) sizeof(mcp_store_record_t))


/* An empty log has head 0 and first == last + 1.  Storing "last" commits an
 * append. */
typedef struct {
    uint32_t  head;
    uint32_t  tail;
    uint32_t  offset;                  /* of record "first" in head */
    uint32_t  mark;                    /* the last mark */
    uint32_t  since;                   /* chunks after it */
    uint32_t  chunks;
    uint64_t  first;
    uint64_t  last;
    uint64_t  bytes;                   /* of payload */
    uint64_t  total;                   /* the same, with dropped records */
} mcp_store_log_t;


/* --- streams --- */

enum {
    MCP_LINK_OWNER = 0,                /* dirty list of the owner's slot, or
                                          the orphans */
    MCP_LINK_CONSUMER,                 /* dirty list of the consumer's slot */
    MCP_LINK_SESSION,                  /* the session's, latest first */
    MCP_LINK_IDLE,                     /* the party's idle listeners, longest
                                          idle first */
    MCP_LINK_LINGER,                   /* the party's streams that linger,
                                          longest first */
    MCP_LINK_RANK,                     /* the first of either list, with those
                                          of other parties of that rank */
    MCP_LINK_HUNGRY,                   /* the owner waits for room in the
                                          region */
    MCP_LINK_MAX
};


/* A ghost is what is left of a stream that was freed, or of a consumer that was
 * displaced, until the processes that must learn of it have drained it. */
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

    uint32_t           self;           /* index of the stream; a ghost's may be
                                          another's */
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
    uint8_t            taken;          /* the owner is at work on a post */
    uint32_t           need;           /* chunks, while hungry */

    uint32_t           owner_slot;
    uint32_t           consumer_slot;
    uint64_t           owner_handle;
    uint64_t           consumer_handle;

    uint64_t           created;
    uint64_t           expires;        /* a listener's session; a task, which a
                                          call is if this is not 0 */
    uint64_t           max_wait;
    uint64_t           linger;
    uint64_t           unattended;     /* 0 without a consumer: not known yet,
                                          the next sweep sets it */
    uint64_t           ended;          /* 0 when over: not known yet either */
    uint64_t           changed;        /* last event, or state */

    uint32_t           max_events;
    uint32_t           joined;         /* ordinal, of when it came into its
                                          list of the session */
    uint64_t           max_bytes;
    uint32_t           alias;
    uint32_t           turn;
    uint8_t            promised;
    uint8_t            seen;           /* LISTEN: had a reader, or waited long
                                          enough for one: may be evicted */
    uint8_t            result;         /* largest of its answers */
    uint8_t            held;           /* nobody may join it yet; 2: nor more
                                          than once */
    uint32_t           quota;          /* chunks of its party; 0: a share */
    uint32_t           share;          /* index of its SHARE chunk, see
                                          mcp_store_share.c; 0: not shared;
                                          derived */
    uint32_t           takeovers;      /* since a consumer left by itself */
    uint32_t           join;           /* ref of its JOIN entry; 0: nobody may
                                          join it */
    uint32_t           given;          /* of a task's last event: questions that
                                          have their answer */
    uint32_t           kept_after;     /* ms from its creation until it was a
                                          task */

    uint64_t           confirmed_seq;  /* a client has the events up to it */
    uint64_t           sent_seq;
    uint64_t           sent_bytes;     /* of events kept, up to sent_seq;
                                          derived */
    uint64_t           applied_seq;    /* last event whose effect on state and
                                          answers is done */
    uint64_t           answered;
    uint64_t           failed;
    uint64_t           failed_seq;
    uint64_t           cancelled;      /* requests, not taken yet by the owner;
                                          0 when over */

    mcp_store_log_t    events;
    mcp_store_log_t    inbox;
} mcp_store_stream_t;


#define MCP_SHARE_LIVE  0x73686172u

/* What a shared stream, or a mirror, has in addition. */
typedef struct {
    uint32_t           live;           /* written last */
    uint32_t           stream;         /* index; 0: it is gone, and the copier
                                          has to learn of it */
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_store_link_t   link;           /* dirty list of the copier's slot, or
                                          the orphans */
    uint32_t           slot;           /* the copier's; the feeder's of a
                                          mirror, or MCP_STORE_NO_SLOT */
    uint8_t            mirror;
    uint8_t            sync;           /* readers see what is acked */
    uint8_t            created;        /* it has been acked once */
    uint8_t            which;          /* of known: the one that counts */
    mcp_store_stand_t  acked;
    uint64_t           reader;         /* number of the latest consumer, on
                                          whatever machine */
    mcp_node_place_t   heard;          /* of a listener: the last of what
                                          nodes are told that it has */

    uint64_t           here;           /* number of a mirror's reader; of the
                                          one who is about to read the stream
                                          itself, or 0 */

    /* posts that come by way of the cluster, which numbers them */
    uint64_t           posts;          /* the last one that is known of */
    uint64_t           got;            /* the last one that has arrived; of a
                                          mirror: that the owner is through
                                          with, as far as is known */

    /* of the stream itself */
    uint64_t           taken;          /* the last one that had arrived when the
                                          owner last had nothing left to take */
    uint32_t           asked;          /* how often the copier is still to say
                                          how the stream stands */

    /* of a mirror */
    uint64_t           last;           /* event that is known, but may have
                                          to be fetched */
    uint64_t           confirmed;
    mcp_store_stand_t  known[2];
    mcp_store_joined_t joined;
} mcp_store_share_t;


/* --- entries --- */

enum {
    MCP_ENTRY_FREE = 0,
    MCP_ENTRY_VALUE,
    MCP_ENTRY_SUB,
    MCP_ENTRY_JOIN,                    /* a call that others may join */
    MCP_ENTRY_READER,                  /* one of these; key: of the stream */
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
            mcp_store_link_t  ring;    /* the party's other pushed values */
        } value;

        struct {
            uint32_t          stream;
            uint32_t          ordinal;
            mcp_store_link_t  topic;   /* newest first */
            mcp_store_link_t  peer;    /* the stream's other ones */
        } sub;

        struct {
            uint32_t          stream;
            uint32_t          count;   /* of readers */
            mcp_store_list_t  readers;
            unsigned char     id[MCP_STREAM_ID_LEN];   /* the stream's */
        } join;

        struct {
            uint64_t          handle;
            uint32_t          slot;
            uint32_t          tag;     /* of both, for the hash */
            mcp_store_link_t  peer;    /* the stream's other ones */
            mcp_store_link_t  dirty;   /* of the slot */
        } reader;

        struct {
            mcp_store_list_t  list;    /* streams or subscriptions */
            mcp_store_list_t  sent;    /* streams that linger */
            uint32_t          count;   /* members */
            uint32_t          active;  /* members that do not linger */
        } group;

        struct {
            mcp_store_list_t  list[MCP_EVICT_MAX];
            uint32_t          streams; /* calls that do not linger */
            uint32_t          listeners;
            uint32_t          values;
            uint32_t          chunks;  /* of all streams */
            uint32_t          held;    /* of streams in neither list */
            uint32_t          pushed;  /* ring link of the newest value, whose
                                          next is the oldest; 0: none */
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


/* --- what became of calls --- */

/* A row counts once head->n_tallies has it. */
typedef struct {
    unsigned char      key[MCP_DIGEST_LEN];
    char               endpoint[MCP_TALLY_ENDPOINT];
    char               name[MCP_TALLY_NAME];
    uint8_t            kind;
    _Atomic uint32_t   failed;         /* result << 16 | reason */
    _Atomic uint64_t   failed_at;
    _Atomic uint64_t   sum;
    _Atomic uint64_t   results[MCP_ENDING_COUNT];
    _Atomic uint64_t   buckets[MCP_TALLY_BUCKETS];
} mcp_store_tally_t;


/* What is copied of a request that runs. */
typedef struct {
    uint32_t       row;
    uint32_t       request;
    uint64_t       began;
    unsigned char  id[MCP_STREAM_ID_LEN];
    char           principal[MCP_TALLY_PRINCIPAL];
} mcp_store_live_data_t;


#define MCP_LIVE_WORDS  (sizeof(mcp_store_live_data_t) / sizeof(uint64_t))

/* Its process alone writes the words; whoever reads them looks at "owner"
 * before and after. */
typedef struct {
    _Atomic uint64_t   owner;          /* see mcp_store_live.c */
    _Atomic uint64_t   word[MCP_LIVE_WORDS];
} mcp_store_live_t;


/* One more than are shown: the oldest may be half overwritten. */
#define MCP_STORE_FAILURES  (MCP_TALLY_RECENT + 1)

typedef struct {
    uint64_t       at;
    uint32_t       row;
    uint16_t       result;
    uint16_t       reason;
    unsigned char  id[MCP_STREAM_ID_LEN];
    char           principal[MCP_TALLY_PRINCIPAL];
    char           detail[MCP_TALLY_DETAIL];
} mcp_store_failure_t;


/* --- the region --- */

enum {
    MCP_GAUGE_CALLS = 0,
    MCP_GAUGE_CONSUMERS,
    MCP_GAUGE_MAX
};


typedef struct {
    _Atomic uint64_t   pid;            /* 0: nobody */
    _Atomic uint32_t   pending;        /* woken, dirty list not empty yet */
    uint32_t           reserved;       /* private chains */
    mcp_store_list_t   dirty;
    _Atomic int64_t    gauge[MCP_GAUGE_MAX];
    _Atomic uint32_t   link;           /* to Redis, see mcp_store_node.c */
    _Atomic uint32_t   lag_events;     /* what it has to copy, see there */
    _Atomic uint64_t   lag_bytes;
    _Atomic uint64_t   lag_since;
} mcp_store_slot_t;


/* The zone as a node of a cluster; all but the first four and the counts under
 * the lock. */
typedef struct {
    _Atomic uint64_t   id;
    _Atomic uint64_t   speaker_pid;
    _Atomic uint64_t   spoken;         /* when it was last known that it does,
                                          ms */
    _Atomic uint32_t   speaker;        /* its slot + 1; 0: nobody */
    uint32_t           failing;        /* 1 after an error, until the node
                                          joins again */
    uint64_t           error_at;
    uint64_t           told_at;        /* time of the last log line about an
                                          error, ms; 0 if there is none */
    uint64_t           suppressed;     /* errors since that line */
    char               error[MCP_NODE_REASON_MAX + 1];
    char               alone[MCP_NODE_REASON_MAX + 1];
    mcp_node_place_t   places[MCP_NODE_PLACES];
    _Atomic uint64_t   counts[MCP_NODE_COUNTS];
    mcp_node_view_t    view;
} mcp_store_node_t;


typedef struct mcp_store_head_s {
    uint64_t           magic;
    uint32_t           version;
    uint32_t           layout;         /* sizes of the structures */
    uint64_t           size;
    uint64_t           seed[2];        /* of the hash */

    uint64_t           tallies;        /* offsets */
    uint64_t           lives;
    uint64_t           failures;
    uint64_t           types;
    uint64_t           stream_hash;
    uint64_t           entry_hash;
    uint64_t           base;           /* of chunk 0, which does not exist */
    uint32_t           stream_mask;
    uint32_t           entry_mask;
    uint32_t           chunks;         /* 1..chunks */
    uint32_t           reserve;
    uint32_t           max_tallies;
    uint32_t           max_lives;

    _Atomic uint32_t   n_tallies;
    _Atomic uint32_t   n_failures;     /* ever noted; may wrap */
    _Atomic uint64_t   seen;           /* time of the last sweep */
    _Atomic uint32_t   cancels;        /* see mcp_store_cancels(); may wrap */

    uint32_t           holder;         /* slot + 1 of the lock's holder */
    uint32_t           fresh;          /* chunks from here on were never used */
    uint32_t           free;           /* chain of chunks given back */
    uint32_t           n_free;
    uint32_t           ordinal;
    uint32_t           hand;           /* where the sweep is */
    uint32_t           n_streams;
    uint32_t           n_listeners;
    uint32_t           n_mirrors;
    uint32_t           n_values;
    uint32_t           n_subs;
    uint32_t           n_calls;        /* calls that do not linger */
    uint32_t           evictable;      /* chunks of streams that may go */
    _Atomic uint32_t   n_orphans;
    _Atomic uint32_t   hint_room;      /* after the last hold of the lock */
    _Atomic uint32_t   hint_calls;

    mcp_store_list_t   orphans;
    mcp_store_list_t   rank[MCP_EVICT_MAX][MCP_STORE_RANKS];
    mcp_store_list_t   hungry;
    mcp_store_list_t   partial;

    _Atomic int64_t    counter[MCP_COUNT_MAX];
    _Atomic int64_t    refused;        /* of REFUSED_FULL: reported so far */
    _Atomic uint64_t   refused_at;     /* time of that report; 0: none */
    _Atomic uint32_t   purpose[256];   /* number of values of each purpose */
    mcp_store_node_t   node;
    mcp_store_slot_t   slots[MCP_STORE_SLOTS];
} mcp_store_head_t;


/* Counts what a cluster's status tells. */
static inline void
mcp_store_node_add(mcp_store_head_t *head, mcp_node_count_e which, uint64_t n)
{
    atomic_fetch_add(&head->node.counts[which], n);
}


/* One hold of the lock, and the wakes that are due after it. */
typedef struct {
    mcp_store_t       *store;
    mcp_store_head_t  *head;
    const unsigned char  *party;       /* room is made for it; NULL: for the
                                          store itself */
    mcp_store_stream_t   *keep;        /* in use: not to be evicted */
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


static inline mcp_store_tally_t *
mcp_store_tallies(mcp_store_head_t *head)
{
    return (mcp_store_tally_t *) ((char *) head + head->tallies);
}


static inline mcp_store_live_t *
mcp_store_lives(mcp_store_head_t *head)
{
    return (mcp_store_live_t *) ((char *) head + head->lives);
}


static inline mcp_store_failure_t *
mcp_store_failures(mcp_store_head_t *head)
{
    return (mcp_store_failure_t *) ((char *) head + head->failures);
}


/* Returns the chunk that p lies in. */
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


/* Compares two ordinals, which may wrap. */
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


/* Whether anybody reads a stream: its consumer, or one who has joined. */
static inline int
mcp_store_attended(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    const mcp_store_entry_t  *join;

    if (st->consumer_slot != MCP_STORE_NO_SLOT) {
        return 1;
    }

    join = mcp_store_at(head, st->join);

    return st->join != 0 && join->u.join.count > 0;
}


static inline int
mcp_store_is_task(const mcp_store_stream_t *st)
{
    return st->kind == MCP_STREAM_CALL && st->expires != 0;
}


static inline mcp_store_share_t *
mcp_store_share_of(mcp_store_head_t *head, uint32_t index)
{
    return (mcp_store_share_t *) mcp_store_chunk(head, index);
}


static inline int
mcp_store_is_mirror(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return st->share != 0 && mcp_store_share_of(head, st->share)->mirror;
}


/* The gate of a shared stream. */
uint64_t mcp_store_share_gate(mcp_store_head_t *head,
    const mcp_store_stream_t *st);


/* Returns the last event that readers may see. */
static inline uint64_t
mcp_store_visible(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return st->share == 0 ? st->events.last : mcp_store_share_gate(head, st);
}


/* Returns how many chunks len bytes fill. */
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

/*
 * Takes the lock, and repairs the store if its holder died.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  the lock cannot be taken
 */
int mcp_store_enter(mcp_store_t *store, mcp_store_op_t *op);

/* Releases the lock, then wakes the processes that op has collected. */
void mcp_store_leave(mcp_store_op_t *op);

static inline void
mcp_store_add(mcp_store_head_t *head, mcp_counter_e counter, int64_t n)
{
    atomic_fetch_add_explicit(&head->counter[counter], n,
                              memory_order_relaxed);
}


/* --- mcp_store_slot.c --- */

/* Puts a link into the dirty list of a slot, and has that process woken.  Does
 * nothing for a link that is listed, or a slot without a process. */
void mcp_store_mark(mcp_store_op_t *op, mcp_store_link_t *link, uint32_t slot);

/* Does so for a stream's owner, or for all who read it. */
void mcp_store_mark_owner(mcp_store_op_t *op, mcp_store_stream_t *st);
void mcp_store_mark_consumer(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Does the latter, but has a consumer here noted: see mcp_store_t. */
void mcp_store_tell_consumer(mcp_store_op_t *op, mcp_store_stream_t *st);

/* A stream whose owner has gone waits to be adopted. */
void mcp_store_orphan(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Takes a stream out of that list again.  role: MCP_LINK_OWNER or
 * MCP_LINK_CONSUMER. */
void mcp_store_unmark(mcp_store_op_t *op, mcp_store_stream_t *st,
    unsigned role);

/* Has a process woken when the lock is released. */
void mcp_store_wake_slot(mcp_store_op_t *op, unsigned slot);

/* Frees a ghost that no process has to drain any more. */
void mcp_store_ghost_settle(mcp_store_op_t *op, mcp_store_stream_t *ghost);


/* --- mcp_store_chunk.c --- */

/* Returns how many chunks can be taken; with "all" including the reserve. */
uint32_t mcp_store_room(const mcp_store_head_t *head, int all);

/*
 * Evicts streams until n chunks can be taken.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL  there is nothing more to evict
 */
int mcp_store_ensure(mcp_store_op_t *op, uint32_t n, int all);

/* Takes n chunks, for which mcp_store_ensure() has made room, as a chain of
 * empty data chunks. */
void mcp_store_chain_take(mcp_store_op_t *op, uint32_t n,
    mcp_store_chain_t *chain);

/* Gives a whole chain back, in a time that does not depend on its length. */
void mcp_store_chain_free(mcp_store_op_t *op, uint32_t first, uint32_t last,
    uint32_t count);

/* Gives back a chain whose end and length are not known. */
void mcp_store_chain_drop(mcp_store_op_t *op, uint32_t first);

/* Takes one chunk, zeroed, for a root. */
uint32_t mcp_store_root_take(mcp_store_op_t *op, unsigned char type);
void mcp_store_root_free(mcp_store_op_t *op, uint32_t index);

/* Copy along a chain and advance pos; mcp_store_copy_out() returns how many
 * bytes there were. */
void mcp_store_copy_in(mcp_store_head_t *head, mcp_store_pos_t *pos,
    const void *data, size_t len);
size_t mcp_store_copy_out(mcp_store_head_t *head, mcp_store_pos_t *pos,
    void *data, size_t len);

/*
 * Makes a private chain: one that is filled without the lock, and then claimed
 * for where it belongs.  It begins with skip bytes that are left as they are.
 * party is whom the room is made for.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL      the region has no room, even after eviction
 *   MCP_ERR_INTERNAL  the lock cannot be taken, or this process was declared
 *                     dead
 */
int mcp_store_private_make(mcp_store_t *store, const mcp_str_t *parts,
    size_t n, uint32_t skip, int all, const unsigned char *party,
    mcp_store_chain_t *chain);

/*
 * Takes a private chain off its slot: it is the caller's to use or to free.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  this process was declared dead, and the chain freed
 */
int mcp_store_private_claim(mcp_store_op_t *op, mcp_store_chain_t *chain);

/* Frees one that is not needed after all, if there is one. */
void mcp_store_private_drop(mcp_store_op_t *op, mcp_store_chain_t *chain);

/* Frees the private chains of a slot whose process has gone. */
void mcp_store_private_reclaim(mcp_store_op_t *op, unsigned slot);

void mcp_store_list_append(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link);
void mcp_store_list_prepend(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link);

/* Does nothing for a link that is in no list. */
void mcp_store_list_remove(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link);

static inline int
mcp_store_linked(const mcp_store_link_t *link)
{
    return link->next != 0;
}


/* --- mcp_store_log.c --- */

/* Returns how many chunks mcp_store_log_append() would take.
 * mcp_store_log_attach() takes none. */
uint32_t mcp_store_log_need(mcp_store_head_t *head, const mcp_store_log_t *log,
    size_t len);

/*
 * Appends a record; rec has len, answers and type, and gets its seq.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL  the region has no room, even after eviction
 */
int mcp_store_log_append(mcp_store_op_t *op, mcp_store_log_t *log,
    mcp_store_record_t *rec, const mcp_str_t *parts, size_t n, int all);

/* Appends a record whose payload stands in a chain already. */
void mcp_store_log_attach(mcp_store_op_t *op, mcp_store_log_t *log,
    mcp_store_record_t *rec, const mcp_store_chain_t *chain);

/* Advances pos from a record of len bytes to its end. */
void mcp_store_log_pass(mcp_store_head_t *head, mcp_store_pos_t *pos,
    uint32_t len);

/* Returns the record that begins at pos or next after it, where pos then is;
 * NULL at the end of the log. */
mcp_store_record_t *mcp_store_log_record(mcp_store_head_t *head,
    mcp_store_pos_t *pos);

/* Returns the payload bytes of the records from..to, which must be kept.  It
 * takes as long as a seek, however many records there are. */
uint64_t mcp_store_log_bytes(mcp_store_head_t *head,
    const mcp_store_log_t *log, uint64_t from, uint64_t to);

/* Sets pos to a record; 0: it is not kept. */
int mcp_store_log_seek(mcp_store_head_t *head, const mcp_store_log_t *log,
    uint64_t seq, mcp_store_pos_t *pos);

/* Drops the oldest record, or all of them. */
void mcp_store_log_drop(mcp_store_op_t *op, mcp_store_log_t *log);
void mcp_store_log_clear(mcp_store_op_t *op, mcp_store_log_t *log);

/* Counts chunks that were linked, in the first of which a record begins: once
 * in MCP_STORE_MARK chunks that one becomes a mark, to which the last mark
 * leads. */
void mcp_store_log_mark(mcp_store_head_t *head, mcp_store_log_t *log,
    uint32_t index, uint32_t chunks);


/* --- mcp_store_find.c --- */

/* Return NULL when the stream is gone. */
mcp_store_stream_t *mcp_store_stream_get(mcp_store_op_t *op,
    const mcp_stream_ref_t *ref);
mcp_store_stream_t *mcp_store_stream_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/*
 * Takes the lock and gets a stream, whose party room is made for.
 *
 * Returns MCP_OK, or without the lock
 *   MCP_ERR_NOT_FOUND  the stream is gone
 *   MCP_ERR_INTERNAL   the lock cannot be taken
 */
int mcp_store_stream_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st);

/* Put a stream into the hash, or take it out. */
void mcp_store_stream_link(mcp_store_head_t *head, uint32_t index);
void mcp_store_stream_unlink(mcp_store_head_t *head, uint32_t index);

void mcp_store_stream_info(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_stream_info_t *info);

/* Appends the stored request id(s) to buf, where errors are found, too. */
void mcp_store_stream_request(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_buf_t *buf);


/* --- mcp_store_create.c --- */

/* Where a mirror begins. */
typedef struct {
    uint64_t  after;
    uint64_t  number;                  /* of its reader; 0: it is for those who
                                          join */
} mcp_store_begin_t;

typedef struct {
    const mcp_stream_spec_t  *spec;
    const mcp_store_begin_t  *begin;   /* of a mirror; NULL: it is none */
    uint64_t                  now;
    mcp_str_t                 text[3];
    mcp_store_chain_t         chain;   /* holds the text, if it is big */
} mcp_store_making_t;

/* Prepares what can be done without the lock: the text.  Returns MCP_OK, or
 * what mcp_store_private_make() does. */
int mcp_store_create_begin(mcp_store_t *store, mcp_store_making_t *making);

/* Does what mcp_store_create() does, with the lock. */
int mcp_store_create_end(mcp_store_op_t *op, mcp_store_making_t *making,
    mcp_stream_ref_t *ref);


/* --- mcp_store_stream.c --- */

/* Ends a stream; what is left of it may be a ghost. */
void mcp_store_stream_free(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Changes the state of a stream; nothing else does.  The caller does what
 * follows from a final state. */
void mcp_store_stream_turn(mcp_store_stream_t *st, mcp_stream_state_e state);

/* Does what follows from a final state: the stream has no owner any more. */
void mcp_store_stream_finish(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);

/* Returns the bit of the request that an event answers; 0: it answers none. */
uint64_t mcp_store_answer_bit(const mcp_store_record_t *rec);

/* Notes which request a committed event answers, and how. */
void mcp_store_stream_answer(mcp_store_stream_t *st,
    const mcp_store_record_t *rec);

/* Does all that follows from a committed event. */
void mcp_store_stream_apply(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_record_t *rec, uint64_t now);

/* Puts a stream into the lists of its party and session that it belongs to
 * now.  Called after every change of state, consumer or sent_seq. */
void mcp_store_stream_settle(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Whether a stream lingers: it is over, sent and unattended. */
int mcp_store_stream_settled(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Returns when one that is over goes, if nobody comes. */
uint64_t mcp_store_stream_end(const mcp_store_stream_t *st);

/* Whether a stream is due to be freed. */
int mcp_store_stream_due(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);


/* --- mcp_store_limit.c --- */

/* Returns how many of the events kept were not sent. */
uint64_t mcp_store_stream_unsent(const mcp_store_stream_t *st);

/* Drops the oldest event to make room, if the stream can do without it: a call
 * if it was sent, a listener always.  Returns 1, or 0 if it cannot. */
int mcp_store_stream_spare(mcp_store_op_t *op, mcp_store_stream_t *st);

/*
 * Makes room for a message within the stream's limits.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT  there is none; the owner is woken when there is
 */
int mcp_store_stream_admit(mcp_store_op_t *op, mcp_store_stream_t *st,
    size_t len, int answers);

/* Sets sent_seq, which may fall, to what a consumer asks for. */
void mcp_store_stream_seen(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent);

/* Raises sent_seq, and wakes the owner if that makes room which it waits
 * for. */
void mcp_store_stream_sent(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent);

/* Does so with what the events kept up to there have of bytes. */
void mcp_store_stream_sent_bytes(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent, uint64_t bytes);

/* Whether an owner that was refused can go on for a while: a quarter of each
 * limit is free, or all was sent. */
int mcp_store_may_go_on(const mcp_store_stream_t *st);

/* An owner waits: its reader says what was sent, if it owes that. */
void mcp_store_ask_sent(mcp_store_op_t *op, mcp_store_stream_t *st);


/* --- mcp_store_append.c --- */

/* Copies a big message into a private chain, without the lock; then appends it,
 * or a small one, with the lock.  They return what mcp_store_append() does. */
int mcp_store_append_copy(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_store_chain_t *chain);
int mcp_store_append_next(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    mcp_str_t message, mcp_store_record_t *rec, uint64_t now,
    mcp_store_chain_t *chain);

/* Returns the number of the request that a record answers, or -1. */
int mcp_store_answers(const mcp_store_record_t *rec);

/* Appends to a listener, which drops events to make room.  chain: holds the
 * message already, if it is not NULL. */
void mcp_store_stream_publish(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_str_t message, const mcp_store_chain_t *chain);

/* Appends a big message to a listener; called without the lock. */
void mcp_store_stream_publish_big(mcp_store_t *store,
    const mcp_stream_ref_t *ref, mcp_str_t message);


/* --- mcp_store_task.c --- */

/* An event is about to be appended to a task: those before may give way to it;
 * it has been: they do. */
void mcp_store_task_release(mcp_store_op_t *op, mcp_store_stream_t *st);
void mcp_store_task_replace(mcp_store_op_t *op, mcp_store_stream_t *st);


/* --- mcp_store_session.c --- */

/* Puts a stream that is in no list of its session into the one for streams that
 * linger, or into the other, as the latest. */
void mcp_store_session_enter(mcp_store_head_t *head,
    mcp_store_entry_t *session, mcp_store_stream_t *st);

/* Moves a stream that has begun to linger, or has ceased to, to the other of
 * its session's lists, as the latest. */
void mcp_store_session_move(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Takes a stream out of its session, whose group may end with that. */
void mcp_store_session_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Whether a session has as many streams as it may.  A limit of 0, or a session
 * of zeros, is none. */
int mcp_store_session_crowded(mcp_store_head_t *head,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t limit);


/* --- mcp_store_party.c --- */

static inline mcp_store_entry_t *
mcp_store_party_of(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return mcp_store_at(head, st->party_group);
}

/* Returns the first stream of one of a party's lists, or NULL. */
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

/* Put a stream into its party's group, or take it out, with which the group may
 * end. */
void mcp_store_party_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *party);
void mcp_store_party_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Puts a stream into those of its party's lists that it belongs to now. */
void mcp_store_party_settle(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Whether a stream is an idle listener: it has had a reader, or waited for one
 * long enough, has none now, and has no unsent event. */
int mcp_store_stream_idle(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Counts n chunks more in one of a stream's logs; or less, modulo 2^32. */
void mcp_store_party_resize(mcp_store_op_t *op, const mcp_store_log_t *log,
    uint32_t n);

/* The chunks that n subscriptions count as: an entry each, and a topic's. */
uint32_t mcp_store_subs_chunks(uint32_t n);

/* Sets how many subscriptions a stream has, and counts their chunks. */
void mcp_store_party_subs(mcp_store_head_t *head, mcp_store_stream_t *st,
    uint32_t n);

/* Count a value in its party's group, or no more.  NULL: there is no room for
 * the group. */
mcp_store_entry_t *mcp_store_party_value_enter(mcp_store_op_t *op,
    const unsigned char id[MCP_DIGEST_LEN]);
void mcp_store_party_value_leave(mcp_store_op_t *op, uint32_t group);

/* Put a value, as the newest, into its party's ring of values that may give
 * way, or take it out; the second does nothing for a value that is in none. */
void mcp_store_party_push(mcp_store_op_t *op, mcp_store_entry_t *e);
void mcp_store_party_pull(mcp_store_op_t *op, mcp_store_entry_t *e);

/* Returns the oldest value of that ring, or NULL. */
mcp_store_entry_t *mcp_store_party_oldest(mcp_store_op_t *op,
    const mcp_party_t *party);


/* --- mcp_store_quota.c --- */

/* Returns the quota of bytes as a stream keeps it, in chunks. */
uint32_t mcp_store_party_quota(const mcp_party_t *party);

/* Whether the party's quota lets a stream take n chunks more.  A small answer
 * always may. */
int mcp_store_party_allows(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, int answer);

/* Whether n chunks are more than the party may ever have at once. */
int mcp_store_party_large(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n);

/* Whether the party's quotas let it create a stream, or a value. */
int mcp_store_party_may_create(mcp_store_op_t *op, const mcp_party_t *party,
    mcp_stream_kind_e kind, uint32_t chunks);
int mcp_store_party_may_value(mcp_store_op_t *op, const mcp_party_t *party);


/* --- mcp_store_evict.c --- */

/*
 * Returns the stream to evict next, or NULL:
 *   1. an idle listener of op's party
 *   2. an idle listener of the largest party
 *   3. a stream of op's party that lingers
 *   4. a stream that lingers of the largest party, if that is larger than op's
 */
mcp_store_stream_t *mcp_store_victim(mcp_store_op_t *op);


/* --- mcp_store_consumer.c --- */

/* Takes the place of a consumer, and leaves a ghost from which it learns
 * that. */
void mcp_store_consumer_displace(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Makes (slot, handle) the consumer of the events after "after"; taken is 1 if
 * there was another one. */
void mcp_store_consumer_take(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint32_t slot, uint64_t handle, uint64_t after, int *taken);

/* The consumer has left at now; 0: at a time not known yet. */
void mcp_store_consumer_gone(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);


/* --- mcp_store_join.c --- */

/*
 * Whether a stream may be created for others to join.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_EXISTS  there is one to join
 *   MCP_ERR_DENIED  it has other params
 */
int mcp_store_join_check(mcp_store_op_t *op, const mcp_stream_spec_t *spec,
    uint64_t now);

/* Lets others join a new stream, which takes the place of an older one; e is
 * what mcp_store_entry_take() gave. */
void mcp_store_join_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *e, const unsigned char key[MCP_DIGEST_LEN]);

/* Has a mirror found by those who join, in the place of another stream. */
void mcp_store_join_name(mcp_store_op_t *op, mcp_store_stream_t *st,
    const unsigned char key[MCP_DIGEST_LEN]);

/* Nobody can join a stream any more, and those who have learn of it. */
void mcp_store_join_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Finds the stream of such an entry again, or frees the entry. */
void mcp_store_repair_join(mcp_store_op_t *op, mcp_store_entry_t *e);


/* --- mcp_store_reader.c --- */

/* Returns this process's reader of that handle, or NULL. */
mcp_store_entry_t *mcp_store_reader_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t handle);

/* The reader has left at now; 0: at a time not known yet. */
void mcp_store_reader_gone(mcp_store_op_t *op, mcp_store_entry_t *e,
    uint64_t now);

/* Wakes all who have joined a stream. */
void mcp_store_readers_mark(mcp_store_op_t *op, mcp_store_entry_t *join);

/* Returns the slot of one of them, but that one; or MCP_STORE_NO_SLOT. */
uint32_t mcp_store_readers_slot(mcp_store_op_t *op, mcp_store_entry_t *join,
    uint32_t but);

/* Frees what readers in a process that has gone have. */
void mcp_store_readers_retire(mcp_store_op_t *op, uint32_t index,
    uint32_t slot);

/* Puts all readers back into their lists, when streams are in theirs. */
void mcp_store_repair_readers(mcp_store_op_t *op);


/* --- mcp_store_share.c --- */

/* Sets *stand to how a stream stands for those who read it, or for its
 * owner. */
void mcp_store_share_stand(mcp_store_head_t *head,
    const mcp_store_stream_t *st, mcp_store_stand_t *stand);
void mcp_store_share_own(const mcp_store_stream_t *st,
    mcp_store_stand_t *stand);

/* Events up to seq, which is one of the stream's, are safe: somebody elsewhere
 * has them. */
void mcp_store_share_reach(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t seq);

/* What is safe: mcp_store_acked(). */
int mcp_store_share_ack(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_stand_t *stand);

/* Says how a share begins, which has no more than zeros. */
void mcp_store_share_fill(mcp_store_op_t *op, mcp_store_share_t *share,
    const mcp_store_stream_t *st);

/* Says what there is to say of a shared stream, or a mirror, in addition. */
void mcp_store_share_info(mcp_store_head_t *head, const mcp_store_stream_t *st,
    mcp_stream_info_t *info);

/* Whether a client may be told of the stream. */
unsigned mcp_store_share_safe(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* A listener has what nodes were told up to there. */
static inline void
mcp_store_share_heard(mcp_store_head_t *head, const mcp_store_stream_t *st,
    uint64_t ms, uint64_t n)
{
    mcp_store_share_t  *share;

    share = mcp_store_share_of(head, st->share);
    share->heard.ms = ms;
    share->heard.n = n;
}

/* Has the copier of a shared stream woken. */
void mcp_store_share_mark(mcp_store_op_t *op, mcp_store_stream_t *st);

static inline void
mcp_store_mark_copy(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (st->share) {
        mcp_store_share_mark(op, st);
    }
}

/* A shared stream is freed, and its copier learns of it. */
void mcp_store_share_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Take the link of such a chunk out of its slot's list, for that process; or
 * out of the orphans, to be this process's to copy. */
void mcp_store_share_drain(mcp_store_op_t *op, uint32_t index,
    mcp_store_wake_t *out);
mcp_store_stream_t *mcp_store_share_adopt(mcp_store_op_t *op, uint32_t index);

/* Gives the role to another process, or to none. */
void mcp_store_share_pass(mcp_store_op_t *op, mcp_store_share_t *share,
    uint32_t slot);

/* Takes a slot out of such a chunk. */
void mcp_store_share_retire(mcp_store_op_t *op, uint32_t index,
    uint32_t slot);

/* Find the streams of such chunks again, before streams are linked; wake those
 * who copy, after that. */
void mcp_store_repair_shares(mcp_store_op_t *op);
void mcp_store_repair_copiers(mcp_store_op_t *op);


/* --- mcp_store_mirror.c --- */

/* Makes a mirror of a stream that is being created. */
void mcp_store_mirror_begin(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_begin_t *begin);

/* Sets what is known of a mirror's stream, as far as the events before it are
 * here. */
void mcp_store_mirror_count(mcp_store_stream_t *st,
    const mcp_store_share_t *share);

/* Whether the reader that is about to watch a mirror has been displaced. */
int mcp_store_mirror_taken(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* The same of who was about to read the stream itself: it is no more. */
int mcp_store_remote_taken(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Whether a mirror that nobody reads is due to be freed. */
int mcp_store_mirror_due(const mcp_store_stream_t *st, uint64_t now);


/* --- mcp_store_entry.c --- */

uint64_t mcp_store_hash(const mcp_store_head_t *head, uint32_t salt,
    const unsigned char key[16]);

/* Puts an entry into the hash. */
void mcp_store_entry_insert(mcp_store_head_t *head, mcp_store_entry_t *e);

/* Returns an entry that has no kind yet, or NULL when there is no room. */
mcp_store_entry_t *mcp_store_entry_take(mcp_store_op_t *op, int all);

/* Gives an entry its kind, with which it counts. */
void mcp_store_entry_publish(mcp_store_head_t *head, mcp_store_entry_t *e,
    unsigned kind);

/* Finds a value (of a purpose), a subscription (of a stream), a reader (of a
 * tag), or another one; purpose and stream are 0 for the others. */
mcp_store_entry_t *mcp_store_entry_find(mcp_store_head_t *head, unsigned kind,
    unsigned purpose, const unsigned char key[16], uint32_t stream);

/* Gives an entry another key. */
void mcp_store_entry_rename(mcp_store_head_t *head, mcp_store_entry_t *e,
    const unsigned char key[16]);

/* Gives an entry back, and its chunk if that was the last entry there. */
void mcp_store_entry_free(mcp_store_op_t *op, mcp_store_entry_t *e);

/* Finds or makes a group; NULL when there is no room. */
mcp_store_entry_t *mcp_store_group(mcp_store_op_t *op, unsigned kind,
    const unsigned char key[16]);

/* Counts one member less; the group ends with the last one. */
void mcp_store_group_leave(mcp_store_op_t *op, uint32_t ref);


/* --- mcp_store_topic.c --- */

/* Puts a subscription into the lists of its topic and its stream. */
void mcp_store_sub_link(mcp_store_head_t *head, mcp_store_entry_t *topic,
    mcp_store_entry_t *e);
void mcp_store_sub_free(mcp_store_op_t *op, mcp_store_entry_t *e);


/* --- mcp_store_tally.c --- */

/* Lays out the rows of a new region. */
void mcp_store_tally_format(mcp_store_head_t *head);

/* Does what mcp_store_tally_failed() does, with the lock. */
void mcp_store_tally_note(mcp_store_head_t *head,
    const mcp_tally_failure_t *failure);

static inline void
mcp_store_tally_add(mcp_store_head_t *head, uint32_t row, mcp_ending_e ending)
{
    atomic_fetch_add_explicit(&mcp_store_tallies(head)[row].results[ending],
                              1, memory_order_relaxed);
}


/* --- mcp_store_live.c --- */

/* Takes out, as lost, what the process in a slot ran. */
void mcp_store_live_retire(mcp_store_head_t *head, unsigned slot);


/* --- mcp_store_value.c --- */

/* Returns how many values there can be.  Clients make them, so they get an
 * eighth of the region, and streams the rest. */
static inline uint32_t
mcp_store_values_max(const mcp_store_head_t *head)
{
    return head->chunks / MCP_STORE_VALUES * MCP_STORE_ENTRIES;
}

/* Frees the expired values of an entry chunk, and returns how many. */
size_t mcp_store_values_expire(mcp_store_op_t *op, uint32_t index,
    uint64_t now);


/* --- mcp_store_repair.c --- */

/* Rebuilds all that is derived.  It may be cut short and begun again. */
void mcp_store_repair(mcp_store_op_t *op);


/* --- mcp_store_repair_log.c --- */

/*
 * Walks a whole log, sets every chunk's type byte to MCP_CHUNK_MARK (none may
 * have it before), and sets *out to what the log's head should be and *rec to
 * the last record.  With "fix", what the chunks derive is set right.
 *
 * Returns 1, or 0 if the log is broken.
 */
int mcp_store_log_scan(mcp_store_head_t *head, const mcp_store_log_t *log,
    int fix, mcp_store_log_t *out, mcp_store_record_t *rec);

/* Does the same with "fix", and sets *log right. */
int mcp_store_repair_log(mcp_store_head_t *head, mcp_store_log_t *log,
    mcp_store_record_t *rec);


/* --- mcp_store_repair_link.c --- */

/* Put values and subscriptions, then streams, back into their hashes, groups
 * and lists. */
void mcp_store_repair_insert(mcp_store_op_t *op);
void mcp_store_repair_links(mcp_store_op_t *op);


#endif /* MCP_STORE_LAYOUT_H_INCLUDED */
