/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The layout of the region, and the functions that the store's files share.
 * Only files of this folder and tests include it.
 *
 *   mcp_store.c           format, lock, sweep, counters
 *   mcp_store_process.c             processes: attach, drain, reclaim, adopt
 *   mcp_store_chunk.c            chunks, lists, private chains
 *   mcp_store_log.c              records in a chain of chunks
 *   mcp_store_find.c             finding and describing streams
 *   mcp_store_create.c           creation of a stream
 *   mcp_store_stream.c           states, end and times of a stream
 *   mcp_store_session_streams.c          the streams of a session
 *   mcp_store_event_retention.c        which events of a stream are kept
 *   mcp_store_append.c           appending, room in the region
 *   mcp_store_inbox.c            post, take, cancel
 *   mcp_store_task.c             tasks: keep, lookup
 *   mcp_store_consumer.c         watch, unwatch, read
 *   mcp_store_join.c             calls that other requests may join
 *   mcp_store_joined_reader.c           joined readers
 *   mcp_store_replication.c      replicated streams, and the last visible event
 *   mcp_store_replication_read.c       the interface of the replicator
 *   mcp_store_remote_consumer.c  a consumer at another node
 *   mcp_store_mirror.c           mirrors of streams of other nodes
 *   mcp_store_tenant.c           accounting of each tenant
 *   mcp_store_quota.c            quotas of each tenant
 *   mcp_store_evict.c            which stream is evicted
 *   mcp_store_hash.c            entries and groups
 *   mcp_store_value.c            small values
 *   mcp_store_topic.c            subscriptions, publishing
 *   mcp_store_call_stats.c       statistics of finished calls
 *   mcp_store_active_request.c           active calls
 *   mcp_store_node.c             the zone as a node of a cluster
 *   mcp_store_repair.c           repair, first part: chunks
 *   mcp_store_repair_log.c       scan and repair of logs
 *   mcp_store_repair_link.c      repair, second part: hashes, groups, lists
 *
 * docs/internals/store.md explains how it works.
 *
 * There are two kinds of references: the index of a chunk, and a "ref", the
 * distance from the region's start in units of 8 bytes, for entries and list
 * links. 0 is none in both cases.
 */


#ifndef MCP_STORE_LAYOUT_H_INCLUDED
#define MCP_STORE_LAYOUT_H_INCLUDED


#include <stdatomic.h>

#include "store/mcp_store_node.h"
#include "store/mcp_store_replication.h"
#include "store/mcp_store_call_stats.h"


#define MCP_STORE_MAGIC      0x4d43502d53544f52ULL
#define MCP_STORE_VERSION    20

#define MCP_STORE_SIZE_MAX   (32ULL * 1024 * 1024 * 1024)  /* limit of 32-bit
                                                              refs */

/* A longer message is copied before the lock is taken. */
#define MCP_STORE_BIG        (64 * 1024)

/* Maximum length of a message. */
#define MCP_STORE_LEN_MAX    0x7fffffffu

/* Number of chunks taken for a private chain while the lock is held once. */
#define MCP_STORE_BATCH      1024

/* Number of chunks between two marks of a log, see mcp_store_log_seek(). */
#define MCP_STORE_MARK       64

/* The reserve: 1/32 of all chunks, within these bounds. */
#define MCP_STORE_RESERVE_MIN  8
#define MCP_STORE_RESERVE_MAX  2048

/* Minimum number of chunks of a stream with one event. */
#define MCP_STORE_LEAST        4

/* At most one of this many chunks may be a call, a listener, or full of
 * values. */
#define MCP_STORE_CALLS        4
#define MCP_STORE_LISTENERS    2
#define MCP_STORE_VALUES       8

/* For shares: the last eighth of the region is for tenants that use less than
 * 1/128 of the region. */
#define MCP_STORE_LAST         8
#define MCP_STORE_LITTLE       128

/* The quota of a /56 is this many times that of a tenant, and that of a /48
 * this many times that of a /56. */
#define MCP_STORE_WIDER        2

/* Number of classes of tenants by size, four for each power of two. */
#define MCP_STORE_RANKS        128

/* The quota of a stream whose tenant has none. */
#define MCP_STORE_NO_QUOTA     UINT32_MAX

/* The owner_slot of a stream whose owner died. */
#define MCP_STORE_OWNERLESS     0xfffffffeu

/* Ends a list; a link with 0 is in no list. */
#define MCP_STORE_END        0xffffffffu

#define mcp_store_align8(n)  (((n) + 7) & ~(uint32_t) 7)


/* A process may be killed between any two instructions, and its earlier stores
 * remain. So only the compiler must be kept from moving stores across the
 * points on which a repair relies. */
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

/* The type of a chunk. Only roots have a type: whether another chunk is free or
 * has data follows from the references to it. */
enum {
    MCP_CHUNK_NONE = 0,
    MCP_CHUNK_STREAM,
    MCP_CHUNK_ENTRY,
    MCP_CHUNK_REPLICATION,
    MCP_CHUNK_MARK,                    /* during a repair or a test */
    MCP_CHUNK_FREE                     /* during a test */
};


#define MCP_CHUNK_HEAD  32
#define MCP_CHUNK_ROOM  (MCP_STORE_CHUNK - MCP_CHUNK_HEAD)

typedef struct {
    uint32_t  next;
    uint32_t  skip;                    /* of a mark: the next mark; of the first
                                          chunk of a private chain: the next
                                          chain */
    uint16_t  used;                    /* offset of the end of the data */
    uint16_t  first;                   /* offset of the first record that starts
                                          in this chunk; 0: none */
    uint32_t  count;                   /* of the first chunk of a private chain:
                                          number of chunks */
    uint64_t  seq;                     /* number of the first record */
    uint64_t  total;                   /* bytes of payload of all records before
                                          it */
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

/* The head of a record is aligned to 8 bytes and never crosses chunks; the
 * payload after it may. */
typedef struct {
    uint32_t  len;
    uint16_t  answers;                 /* of an event: number of the request +
                                          1, with MCP_STORE_RESULT(), _ERROR or
                                          _ABOUT */
    uint16_t  type;                    /* of an event: state; of a post:
                                          mcp_inbox_item_e */
    uint64_t  seq;
} mcp_store_record_t;


#define MCP_RECORD_HEAD  ((uint32_t) sizeof(mcp_store_record_t))


/* An empty log has head 0 and first == last + 1. Storing "last" commits an
 * append. */
typedef struct {
    uint32_t  head;
    uint32_t  tail;
    uint32_t  offset;                  /* offset of record "first" in chunk
                                          "head" */
    uint32_t  mark;                    /* index of the last mark */
    uint32_t  since;                   /* number of chunks after it */
    uint32_t  chunks;
    uint64_t  first;
    uint64_t  last;
    uint64_t  bytes;                   /* bytes of payload */
    uint64_t  total;                   /* bytes of payload including removed
                                          records */
} mcp_store_log_t;


/* --- streams --- */

enum {
    MCP_LINK_OWNER = 0,                /* dirty list of the owner's slot, or the
                                          list of orphans */
    MCP_LINK_CONSUMER,                 /* dirty list of the consumer's slot */
    MCP_LINK_SESSION,                  /* list of the session, latest first */
    MCP_LINK_EVICT,                    /* ring of the tenant's streams that may
                                          be evicted for the same reason */
    MCP_LINK_RANK,                     /* the first stream of such a ring:
                                          list of those of other tenants of
                                          that rank */
    MCP_LINK_BLOCKED_ON_SPACE,         /* list of streams whose owners wait for
                                          room in the region */
    MCP_LINK_MAX
};


/* A tombstone is the rest of a freed stream, or of a displaced consumer, until
 * the processes concerned have been notified by mcp_store_drain(). */
#define MCP_STREAM_LIVE       0x6c697665u
#define MCP_STREAM_TOMBSTONE  0x676f6e65u


typedef struct {
    uint32_t           next;           /* next in the hash chain; used by
                                          repair */
    uint32_t           live;           /* MCP_STREAM_LIVE or
                                          MCP_STREAM_TOMBSTONE; written last */

    unsigned char      id[MCP_STREAM_ID_LEN];
    unsigned char      session[MCP_DIGEST_LEN];
    unsigned char      principal[MCP_DIGEST_LEN];
    unsigned char      tenant[MCP_DIGEST_LEN];
    unsigned char      params[MCP_DIGEST_LEN];

    uint32_t           self;           /* index of the stream; for the tombstone
                                          of a consumer, that of its stream */
    uint32_t           ordinal;        /* number of the stream in the order of
                                          creation */
    uint32_t           session_group;  /* refs of the groups of session and
                                          tenant */
    uint32_t           tenant_entry;
    mcp_store_link_t   link[MCP_LINK_MAX];
    mcp_store_list_t   subs;
    uint32_t           n_subs;
    uint32_t           revision;

    uint32_t           text;           /* chain of chunks with method, name and
                                          request */
    uint32_t           text_chunks;
    uint32_t           request_len;
    uint16_t           method_len;
    uint16_t           name_len;

    uint8_t            kind;
    uint8_t            state;
    uint8_t            want_room;      /* 1: the owner waits for room after
                                          MCP_ERR_LIMIT */
    uint8_t            taken;          /* 1: the owner is processing a post */
    uint32_t           need;           /* number of chunks for which the owner
                                          waits */

    uint32_t           owner_slot;
    uint32_t           consumer_slot;
    uint64_t           owner_handle;
    uint64_t           consumer_handle;

    uint64_t           created;
    uint64_t           expires;        /* when a listener's session expires, or
                                          a task; a call with a value other than
                                          0 is a task */
    uint64_t           max_wait;
    uint64_t           linger;
    uint64_t           unattended;     /* since when there is no consumer; 0
                                          without a consumer: unknown, set by
                                          the next sweep */
    uint64_t           ended;          /* when the stream ended; 0 when over:
                                          unknown */
    uint64_t           changed;        /* time of the last event or change of
                                          state */

    uint32_t           max_events;
    uint32_t           joined;         /* ordinal of the time when it entered
                                          its session's list */
    uint64_t           max_bytes;
    uint32_t           alias;
    uint32_t           generation;
    uint8_t            promised;       /* MCP_PROMISE_... */
    uint8_t            seen;           /* 1: had a reader, or waited long enough
                                          for one: may be evicted */
    uint8_t            result;         /* largest MCP_STORE_RESULT() of its
                                          responses */
    uint8_t            held;           /* 1: cannot be joined yet; 2: nor more
                                          than once */
    uint32_t           quota;          /* quota of its tenant, chunks; 0: a
                                          share */
    uint32_t           repl;           /* index of its replication chunk, see
                                          mcp_store_replication.c; 0: not
                                          replicated; derived */
    uint32_t           takeovers;      /* number of consumers that were
                                          displaced since one left by itself */
    uint32_t           join;           /* ref of its JOIN entry; 0: cannot be
                                          joined */
    uint32_t           given;          /* of a task's last event: bits of the
                                          answered questions */
    uint32_t           kept_after;     /* ms from its creation until it became a
                                          task */
    uint8_t            evict;          /* number + 1 of the tenant's ring that
                                          it is in; 0: none; derived */

    uint64_t           confirmed_seq;  /* last event that a client has
                                          confirmed */
    uint64_t           sent_seq;
    uint64_t           sent_bytes;     /* bytes of the kept events up to
                                          sent_seq; derived */
    uint64_t           applied_seq;    /* last event whose effects on state and
                                          answers are applied */
    uint64_t           answered;
    uint64_t           failed;
    uint64_t           failed_seq;
    uint64_t           cancelled;      /* bits of cancelled requests for the
                                          owner; 0 when over */

    mcp_store_log_t    events;
    mcp_store_log_t    inbox;
} mcp_store_stream_t;


#define MCP_REPLICATION_LIVE  0x73686172u

/* The additional data of a replicated stream or a mirror. */
typedef struct {
    uint32_t                live;      /* MCP_REPLICATION_LIVE; written last */
    uint32_t                stream;    /* index; 0: the stream was freed, and
                                          the replicator has to be notified */
    unsigned char           id[MCP_STREAM_ID_LEN];
    mcp_store_link_t        link;      /* dirty list of the replicator's slot,
                                          or the list of orphans */
    uint32_t                slot;      /* slot of the process that replicates
                                          the stream or feeds the mirror, or
                                          MCP_STORE_NO_SLOT */
    uint8_t                 mirror;
    uint8_t                 sync;      /* 1: readers see acknowledged events
                                          only */
    uint8_t                 created;   /* 1: acknowledged at least once */
    uint8_t                 which;     /* index of the valid element of known */
    mcp_store_checkpoint_t  acked;
    uint64_t                reader;    /* number of the latest consumer at any
                                          node */
    mcp_node_position_t     received;  /* of a listener: position of the last
                                          broadcast that it has received */

    uint64_t                here;      /* number of a mirror's reader; of the
                                          reader that is about to read the
                                          stream itself, or 0 */

    /* client input from other nodes, which is numbered */
    uint64_t                posts;     /* last number that is known */
    uint64_t                got;       /* last number that has arrived; of a
                                          mirror: last number that the owner has
                                          processed, as far as is known */

    /* of the stream itself */
    uint64_t                taken;     /* last number that had arrived when the
                                          owner last found its inbox empty */
    uint32_t state_requests;           /* number of requests for the stream's
                                     state that the replicator has to
                                     answer */

    /* of a mirror */
    uint64_t                last;      /* last event that the owner has, which
                                          may have to be fetched */
    uint64_t                confirmed;
    mcp_store_checkpoint_t  known[2];
    mcp_store_joined_t joined;
} mcp_store_replication_t;


/* --- entries --- */

enum {
    MCP_ENTRY_FREE = 0,
    MCP_ENTRY_VALUE,
    MCP_ENTRY_SUB,
    MCP_ENTRY_JOIN,                    /* a call that other requests may join */
    MCP_ENTRY_READER,                  /* a joined reader; key: the stream's
                                          id */
    MCP_ENTRY_SESSION,                 /* this and the next two are groups,
                                          which a repair rebuilds */
    MCP_ENTRY_TENANT,
    MCP_ENTRY_TOPIC,
    MCP_ENTRY_MAX
};


/* The rings of a tenant's streams that may be evicted. In each, the stream that
 * has been there longest comes first. */
enum {
    MCP_EVICT_IDLE = 0,                /* listeners that would miss no event */
    MCP_EVICT_LINGER,                  /* over, sent and without a consumer */

    /* streams in the following rings count as used, and are evicted only when a
     * call would be rejected */
    MCP_EVICT_OVER,                    /* over and without a consumer or a
                                          principal, including tasks */
    MCP_EVICT_LEFT,                    /* other calls without a consumer, except
                                          tasks of a principal */
    MCP_EVICT_MAX
};


typedef struct {
    uint32_t       next;               /* next in the hash chain; used by
                                          repair */
    uint8_t        kind;               /* written last */
    uint8_t        purpose;
    uint8_t        pushed;             /* 1: the value may be replaced by a
                                          newer one */
    uint8_t        rank;               /* of a tenant: class by number of
                                          chunks */
    unsigned char  key[MCP_DIGEST_LEN];

    union {
        struct {
            uint64_t          expires;
            uint32_t          value;
            uint32_t          group;   /* ref of the tenant's group; 0: none */
            unsigned char     tenant[MCP_DIGEST_LEN];
            mcp_store_link_t  ring;    /* ring of the tenant's other pushed
                                          values */
        } value;

        struct {
            uint32_t          stream;
            uint32_t          ordinal;
            mcp_store_link_t  topic;   /* list of the topic, newest first */
            mcp_store_link_t  peer;    /* list of the stream's other
                                          subscriptions */
        } sub;

        struct {
            uint32_t          stream;
            uint32_t          count;   /* number of readers */
            mcp_store_list_t  readers;
            unsigned char     id[MCP_STREAM_ID_LEN];   /* id of the stream */
        } join;

        struct {
            uint64_t          handle;
            uint32_t          slot;
            uint32_t          tag;     /* hash value of handle and slot */
            mcp_store_link_t  peer;    /* list of the stream's other readers */
            mcp_store_link_t  dirty;   /* dirty list of the slot */
        } reader;

        struct {
            mcp_store_list_t  list;    /* streams or subscriptions */
            mcp_store_list_t  sent;    /* streams that linger */
            uint32_t          count;   /* number of members */
            uint32_t          active;  /* number of members that do not
                                          linger */
        } group;

        struct {
            uint32_t          ring[MCP_EVICT_MAX]; /* link of the newest stream,
                                                      whose next is the oldest;
                                                      0: empty */
            uint32_t          streams; /* number of calls that do not linger */
            uint32_t          listeners;
            uint32_t          values;
            uint32_t          chunks;  /* number of chunks of all streams */
            uint32_t          held;    /* number of chunks of streams that are
                                          in neither of the rings IDLE and
                                          LINGER */
            uint32_t          pushed;  /* ring link of the newest value, whose
                                          next is the oldest; 0: none */
        } tenant;
    } u;
} mcp_store_entry_t;


#define MCP_STORE_ENTRIES  7

typedef struct {
    mcp_store_link_t   partial;        /* list of entry chunks with a free
                                          entry */
    uint32_t           used;           /* a bit for each used entry */
    uint32_t           spare[5];
    mcp_store_entry_t  entry[MCP_STORE_ENTRIES];
} mcp_store_entries_t;


/* --- call statistics --- */

/* A row is valid if its index is below head->n_call_stats. */
typedef struct {
    unsigned char      key[MCP_DIGEST_LEN];
    char               endpoint[MCP_CALL_STATS_ENDPOINT];
    char               name[MCP_CALL_STATS_NAME];
    uint8_t            kind;
    _Atomic uint32_t   failed;         /* outcome << 16 | reason of the last
                                          failure */
    _Atomic uint64_t   failed_at;
    _Atomic uint64_t   sum;
    _Atomic uint64_t   results[MCP_OUTCOME_COUNT];
    _Atomic uint64_t   buckets[MCP_CALL_STATS_BUCKETS];
} mcp_store_call_stats_t;


/* The data of an active request. */
typedef struct {
    uint32_t       row;
    uint32_t       request;
    uint64_t       began;
    unsigned char  id[MCP_STREAM_ID_LEN];
    char           principal[MCP_CALL_STATS_PRINCIPAL];
} mcp_store_active_data_t;


#define MCP_ACTIVE_WORDS  (sizeof(mcp_store_active_data_t) / sizeof(uint64_t))

/* Only the row's own process writes the words; a reader compares "owner" before
 * and after reading. */
typedef struct {
    _Atomic uint64_t   owner;          /* see mcp_store_active_request.c */
    _Atomic uint64_t   word[MCP_ACTIVE_WORDS];
} mcp_store_active_t;


/* One more than the number that is shown, because the oldest may be half
 * overwritten. */
#define MCP_STORE_FAILURES  (MCP_CALL_STATS_RECENT + 1)

typedef struct {
    uint64_t       at;
    uint32_t       row;
    uint16_t       result;
    uint16_t       reason;
    unsigned char  id[MCP_STREAM_ID_LEN];
    char           principal[MCP_CALL_STATS_PRINCIPAL];
    char           detail[MCP_CALL_STATS_DETAIL];
} mcp_store_failure_t;


/* --- the region --- */

enum {
    MCP_GAUGE_CALLS = 0,
    MCP_GAUGE_CONSUMERS,
    MCP_GAUGE_MAX
};


typedef struct {
    _Atomic uint64_t   pid;            /* 0: the slot is free */
    _Atomic uint32_t   pending;        /* 1: the process was woken, and the
                                          dirty list is not empty yet */
    uint32_t           reserved;       /* first chunk of the first private
                                          chain */
    mcp_store_list_t   dirty;
    _Atomic int64_t    gauge[MCP_GAUGE_MAX];
    _Atomic uint32_t   link;           /* state of the link to Redis, see
                                          mcp_store_node.c */
    _Atomic uint32_t   lag_events;     /* events that are not replicated yet,
                                          see mcp_store_node.c */
    _Atomic uint64_t   lag_bytes;
    _Atomic uint64_t   lag_since;
} mcp_store_slot_t;


/* The zone as a node of a cluster. All members but the atomic ones are accessed
 * under the lock. */
typedef struct {
    _Atomic uint64_t     id;
    _Atomic uint64_t     leader_pid;
    _Atomic uint64_t     leader_at;    /* when the leader was last known to be
                                          active, ms */
    _Atomic uint32_t     leader;       /* slot + 1 of the leader; 0: none */
    _Atomic uint32_t     skewed;       /* 1 if the node's clock differs too much
                                          from that of Redis */
    uint32_t             failing;      /* 1 after an error, until the node
                                          joins again */
    uint64_t             error_at;
    uint64_t             logged_at;    /* time of the last log line about an
                                          error, ms; 0 if there is none */
    uint64_t             suppressed;   /* errors since that line */
    char                 error[MCP_NODE_REASON_MAX + 1];
    char                 standalone[MCP_NODE_REASON_MAX + 1];
    mcp_node_position_t  positions[MCP_NODE_POSITIONS];
    _Atomic uint64_t     counts[MCP_NODE_COUNTS];
    mcp_node_view_t      view;
} mcp_store_node_t;


typedef struct mcp_store_head_s {
    uint64_t           magic;
    uint32_t           version;
    uint32_t           layout;         /* hash of the sizes of the structures */
    uint64_t           size;
    uint64_t           seed[2];        /* seed of the hash functions */

    uint64_t           call_stats;        /* this and the following are offsets
                                          from the region's start */
    uint64_t           lives;
    uint64_t           failures;
    uint64_t           types;
    uint64_t           stream_hash;
    uint64_t           entry_hash;
    uint64_t           base;           /* offset of chunk 0, which does not
                                          exist */
    uint32_t           stream_mask;
    uint32_t           entry_mask;
    uint32_t           chunks;         /* number of chunks; indices are 1 to
                                          this */
    uint32_t           reserve;
    uint32_t           max_call_stats;
    uint32_t           max_active;

    _Atomic uint32_t   n_call_stats;
    _Atomic uint32_t   n_failures;     /* number of failures ever noted; may
                                          wrap */
    _Atomic uint64_t   seen;           /* time of the last sweep */
    _Atomic uint32_t   cancels;        /* see mcp_store_cancels(); may wrap */

    uint32_t           holder;         /* slot + 1 of the lock's holder */
    uint32_t           fresh;          /* index of the first chunk that was
                                          never used */
    uint32_t           free;           /* chain of freed chunks */
    uint32_t           n_free;
    uint32_t           ordinal;
    uint32_t           hand;           /* index of the chunk that the sweep
                                          visits next */
    uint32_t           n_streams;
    uint32_t           n_listeners;
    uint32_t           n_mirrors;
    uint32_t           n_values;
    uint32_t           n_subs;
    uint32_t           n_calls;        /* number of calls that do not linger */
    uint32_t           evictable;      /* number of chunks of streams in the
                                          rings IDLE and LINGER */
    uint32_t           n_unread;       /* number of streams in the rings OVER
                                          and LEFT */
    _Atomic uint32_t   n_ownerless;
    _Atomic uint32_t   hint_room;      /* free chunks when the lock was last
                                          released */
    _Atomic uint32_t   hint_calls;

    mcp_store_list_t   ownerless;
    mcp_store_list_t   rank[MCP_EVICT_MAX][MCP_STORE_RANKS];
    mcp_store_list_t   blocked;
    mcp_store_list_t   partial;

    _Atomic int64_t    counter[MCP_COUNT_MAX];
    _Atomic int64_t    refused;        /* value of REFUSED_FULL at the last
                                          report */
    _Atomic uint64_t   refused_at;     /* time of the report, ms; 0: none */
    _Atomic uint32_t   purpose[256];   /* number of values by purpose */
    mcp_store_node_t   node;
    mcp_store_slot_t   slots[MCP_STORE_SLOTS];
} mcp_store_head_t;


/* Adds to a counter of the cluster's status. */
static inline void
mcp_store_node_add(mcp_store_head_t *head, mcp_node_count_e which, uint64_t n)
{
    atomic_fetch_add(&head->node.counts[which], n);
}


/* The lock while it is held, and the wake-ups to send after its release. */
typedef struct {
    mcp_store_t       *store;
    mcp_store_head_t  *head;
    const unsigned char  *tenant;      /* tenant for which room is made; NULL:
                                          for the store itself */
    mcp_store_stream_t   *keep;        /* a stream that must not be evicted */
    unsigned           creates;        /* 1: room is made for a new stream */
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


static inline mcp_store_call_stats_t *
mcp_store_call_stats_all(mcp_store_head_t *head)
{
    return (mcp_store_call_stats_t *) ((char *) head + head->call_stats);
}


static inline mcp_store_active_t *
mcp_store_active_records(mcp_store_head_t *head)
{
    return (mcp_store_active_t *) ((char *) head + head->lives);
}


static inline mcp_store_failure_t *
mcp_store_failures(mcp_store_head_t *head)
{
    return (mcp_store_failure_t *) ((char *) head + head->failures);
}


/* Returns the index of the chunk that contains p. */
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


/* Returns 1 if a stream has a reader: its consumer, or a joined reader. */
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


static inline mcp_store_replication_t *
mcp_store_replication_of(mcp_store_head_t *head, uint32_t index)
{
    return (mcp_store_replication_t *) mcp_store_chunk(head, index);
}


static inline int
mcp_store_is_mirror(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return st->repl != 0 && mcp_store_replication_of(head, st->repl)->mirror;
}


/* Returns the last visible event of a replicated stream. */
uint64_t mcp_store_replication_gate(mcp_store_head_t *head,
    const mcp_store_stream_t *st);


/* Returns the last event that readers may see. */
static inline uint64_t
mcp_store_visible(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return st->repl == 0 ? st->events.last
                          : mcp_store_replication_gate(head, st);
}


/* Returns the number of chunks for len bytes. */
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


/* --- mcp_store.c --- */

/*
 * Takes the lock, and repairs the store if the last holder died.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  the lock cannot be taken
 */
int mcp_store_enter(mcp_store_t *store, mcp_store_op_t *op);

/* Releases the lock, then sends the wake-ups that op has collected. */
void mcp_store_leave(mcp_store_op_t *op);

static inline void
mcp_store_add(mcp_store_head_t *head, mcp_counter_e counter, int64_t n)
{
    atomic_fetch_add_explicit(&head->counter[counter], n,
                              memory_order_relaxed);
}


/* --- mcp_store_process.c --- */

/* Adds a link to the dirty list of a slot and wakes that process later. Does
 * nothing if the link is listed, or the slot has no process. */
void mcp_store_mark(mcp_store_op_t *op, mcp_store_link_t *link, uint32_t slot);

/* Mark a stream for its owner, or for all its readers. */
void mcp_store_mark_owner(mcp_store_op_t *op, mcp_store_stream_t *st);
void mcp_store_mark_consumer(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Marks a stream for its readers; a consumer of this process is passed to
 * note(), see mcp_store_t. */
void mcp_store_notify_consumer(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Adds a stream without an owner to the list of orphans. */
void mcp_store_disown(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Removes a stream from the dirty list of a role, MCP_LINK_OWNER or
 * MCP_LINK_CONSUMER. */
void mcp_store_unmark(mcp_store_op_t *op, mcp_store_stream_t *st,
    unsigned role);

/* Wakes a process when the lock is released. */
void mcp_store_wake_slot(mcp_store_op_t *op, unsigned slot);

/* Frees a tombstone if no process has to be notified any more. */
void mcp_store_tombstone_settle(mcp_store_op_t *op,
    mcp_store_stream_t *tombstone);


/* --- mcp_store_chunk.c --- */

/* Returns the number of chunks that can be taken, including the reserve if all
 * is 1. */
uint32_t mcp_store_room(const mcp_store_head_t *head, int all);

/*
 * Evicts streams until n chunks can be taken.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL  no stream is left to evict
 */
int mcp_store_ensure(mcp_store_op_t *op, uint32_t n, int all);

/* Takes n chunks, for which mcp_store_ensure() has made room, as a chain of
 * empty data chunks. */
void mcp_store_chain_take(mcp_store_op_t *op, uint32_t n,
    mcp_store_chain_t *chain);

/* Frees a whole chain in constant time. */
void mcp_store_chain_free(mcp_store_op_t *op, uint32_t first, uint32_t last,
    uint32_t count);

/* Frees a chain whose end and length are unknown. */
void mcp_store_chain_drop(mcp_store_op_t *op, uint32_t first);

/* Takes one chunk for a root and sets it to zero. */
uint32_t mcp_store_root_take(mcp_store_op_t *op, unsigned char type);
void mcp_store_root_free(mcp_store_op_t *op, uint32_t index);

/* Copy along a chain and advance pos. mcp_store_copy_out() returns the number
 * of bytes. */
void mcp_store_copy_in(mcp_store_head_t *head, mcp_store_pos_t *pos,
    const void *data, size_t len);
size_t mcp_store_copy_out(mcp_store_head_t *head, mcp_store_pos_t *pos,
    void *data, size_t len);

/*
 * Creates a private chain: a chain that is filled without the lock and then
 * claimed. Its first skip bytes remain unset. tenant is the tenant for which
 * room is made.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL      the region has no room, even after eviction
 *   MCP_ERR_INTERNAL  the lock cannot be taken, or this process was declared
 *                     dead
 */
int mcp_store_private_make(mcp_store_t *store, const mcp_str_t *parts,
    size_t n, uint32_t skip, int all, const unsigned char *tenant,
    mcp_store_chain_t *chain);

/*
 * Removes a private chain from its slot; the caller then owns it.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  this process was declared dead, and the chain was freed
 */
int mcp_store_private_claim(mcp_store_op_t *op, mcp_store_chain_t *chain);

/* Frees a private chain that is not needed, if there is one. */
void mcp_store_private_drop(mcp_store_op_t *op, mcp_store_chain_t *chain);

/* Frees the private chains of a slot whose process has ended. */
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

/* Add a link to a ring as its newest, or remove a link from its ring. */
void mcp_store_ring_append(mcp_store_head_t *head, uint32_t *ring,
    mcp_store_link_t *link);
void mcp_store_ring_remove(mcp_store_head_t *head, uint32_t *ring,
    mcp_store_link_t *link);


/* --- mcp_store_log.c --- */

/* Returns the number of chunks that mcp_store_log_append() would take.
 * mcp_store_log_attach() takes none. */
uint32_t mcp_store_log_need(mcp_store_head_t *head, const mcp_store_log_t *log,
    size_t len);

/*
 * Appends a record. rec contains len, answers and type; its seq is set.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL  the region has no room, even after eviction
 */
int mcp_store_log_append(mcp_store_op_t *op, mcp_store_log_t *log,
    mcp_store_record_t *rec, const mcp_str_t *parts, size_t n, int all);

/* Appends a record whose payload is in a chain. */
void mcp_store_log_attach(mcp_store_op_t *op, mcp_store_log_t *log,
    mcp_store_record_t *rec, const mcp_store_chain_t *chain);

/* Advances pos from the start of a record's len bytes of payload to their
 * end. */
void mcp_store_log_pass(mcp_store_head_t *head, mcp_store_pos_t *pos,
    uint32_t len);

/* Returns the record at pos, or the next one, and sets pos to it; NULL at the
 * end of the log. */
mcp_store_record_t *mcp_store_log_record(mcp_store_head_t *head,
    mcp_store_pos_t *pos);

/* Returns the bytes of payload of the records from..to, which must exist. The
 * time is that of a seek, for any number of records. */
uint64_t mcp_store_log_bytes(mcp_store_head_t *head,
    const mcp_store_log_t *log, uint64_t from, uint64_t to);

/* Sets pos to a record and returns 1; returns 0 if it does not exist. */
int mcp_store_log_seek(mcp_store_head_t *head, const mcp_store_log_t *log,
    uint64_t seq, mcp_store_pos_t *pos);

/* Remove the oldest record, or all records. */
void mcp_store_log_drop(mcp_store_op_t *op, mcp_store_log_t *log);
void mcp_store_log_clear(mcp_store_op_t *op, mcp_store_log_t *log);

/* Counts newly linked chunks, in the first of which a record begins: every
 * MCP_STORE_MARK chunks that one becomes a mark, to which the last mark
 * refers. */
void mcp_store_log_mark(mcp_store_head_t *head, mcp_store_log_t *log,
    uint32_t index, uint32_t chunks);


/* --- mcp_store_find.c --- */

/* Return NULL if the stream does not exist. */
mcp_store_stream_t *mcp_store_stream_get(mcp_store_op_t *op,
    const mcp_stream_ref_t *ref);
mcp_store_stream_t *mcp_store_stream_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/*
 * Takes the lock and gets a stream, for whose tenant room is then made.
 *
 * Returns MCP_OK, or, without the lock,
 *   MCP_ERR_NOT_FOUND  the stream does not exist
 *   MCP_ERR_INTERNAL   the lock cannot be taken
 */
int mcp_store_stream_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st);

/* Add a stream to the hash, or remove it. */
void mcp_store_stream_link(mcp_store_head_t *head, uint32_t index);
void mcp_store_stream_unlink(mcp_store_head_t *head, uint32_t index);

void mcp_store_stream_info(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_stream_info_t *info);

/* Appends the stored request id or ids to buf, which records errors. */
void mcp_store_stream_request(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_buf_t *buf);


/* --- mcp_store_create.c --- */

/* The start of a mirror. */
typedef struct {
    uint64_t  after;
    uint64_t  number;                  /* number of its reader; 0: it is for
                                          joined readers */
} mcp_store_begin_t;

typedef struct {
    const mcp_stream_spec_t  *spec;
    const mcp_store_begin_t  *begin;   /* of a mirror; NULL: it is not a
                                          mirror */
    uint64_t                  now;
    mcp_str_t                 text[3];
    mcp_store_chain_t         chain;   /* contains the text if that is long */
} mcp_store_making_t;

/* Prepares the text without the lock. Returns MCP_OK or the values of
 * mcp_store_private_make(). */
int mcp_store_create_begin(mcp_store_t *store, mcp_store_making_t *making);

/* Creates the stream with the lock; otherwise as mcp_store_create(). */
int mcp_store_create_end(mcp_store_op_t *op, mcp_store_making_t *making,
    mcp_stream_ref_t *ref);


/* --- mcp_store_stream.c --- */

/* Frees a stream; its memory may remain as a tombstone. */
void mcp_store_stream_free(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Frees a stream and wakes its owner, even in this process, which then does not
 * find it any more. */
void mcp_store_stream_revoke(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Sets the state of a stream and nothing else. The caller handles the
 * consequences of a final state. */
void mcp_store_stream_set_state(mcp_store_stream_t *st,
    mcp_stream_state_e state);

/* Handles the consequences of a final state: the stream loses its owner. */
void mcp_store_stream_finish(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);

/* Returns the bit of the request that an event answers, 0 if there is none. */
uint64_t mcp_store_answer_bit(const mcp_store_record_t *rec);

/* Records which request a committed event answers, and how. */
void mcp_store_stream_answer(mcp_store_stream_t *st,
    const mcp_store_record_t *rec);

/* Applies all effects of a committed event. */
void mcp_store_stream_apply(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_record_t *rec, uint64_t now);

/* Moves a stream to the lists of its tenant and session that match its state.
 * To be called after each change of state, consumer or sent_seq. */
void mcp_store_stream_settle(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Returns 1 if a stream lingers: it is over, sent and without a consumer. */
int mcp_store_stream_settled(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Returns when a stream that is over expires without a consumer. */
uint64_t mcp_store_stream_end(const mcp_store_stream_t *st);

/* Returns 1 if a stream is due to be freed. */
int mcp_store_stream_due(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);


/* --- mcp_store_event_retention.c --- */

/* Returns the number of kept events that were not sent. */
uint64_t mcp_store_stream_unsent(const mcp_store_stream_t *st);

/* Removes the oldest event to make room, if that is allowed: from a call if it
 * was sent, from a listener always. Returns 1, or 0 if it is not. */
int mcp_store_stream_drop_event(mcp_store_op_t *op, mcp_store_stream_t *st);

/*
 * Makes room for a message within the stream's limits.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT  there is no room; the owner is woken when there is
 */
int mcp_store_stream_admit(mcp_store_op_t *op, mcp_store_stream_t *st,
    size_t len, int answers);

/* Sets sent_seq to the position of a consumer, which may be lower. */
void mcp_store_stream_seen(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent);

/* Raises sent_seq, and wakes the owner if that makes the room for which it
 * waits. */
void mcp_store_stream_sent(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent);

/* Raises sent_seq; bytes are those of the kept events up to sent. */
void mcp_store_stream_sent_bytes(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent, uint64_t bytes);

/* Returns 1 if an owner that got MCP_ERR_LIMIT can continue: a quarter of each
 * limit is free, or all events were sent. */
int mcp_store_may_go_on(const mcp_store_stream_t *st);

/* Asks the consumer to report the events that it has sent, because the owner
 * waits for room. */
void mcp_store_query_sent(mcp_store_op_t *op, mcp_store_stream_t *st);


/* --- mcp_store_append.c --- */

/* mcp_store_append_copy() copies a long message to a private chain without the
 * lock; mcp_store_append_next() appends it, or a short one, with the lock. They
 * return the values of mcp_store_append(). */
int mcp_store_append_copy(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_store_chain_t *chain);
int mcp_store_append_next(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    mcp_str_t message, mcp_store_record_t *rec, uint64_t now,
    mcp_store_chain_t *chain);

/* Returns the number of the request that a record answers, or -1. */
int mcp_store_answers(const mcp_store_record_t *rec);

/* Appends to a listener, which loses events to make room. chain contains the
 * message unless it is NULL. */
void mcp_store_stream_publish(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_str_t message, const mcp_store_chain_t *chain);

/* Appends a long message to a listener; called without the lock. */
void mcp_store_stream_publish_big(mcp_store_t *store,
    const mcp_stream_ref_t *ref, mcp_str_t message);


/* --- mcp_store_task.c --- */

/* mcp_store_task_release() is called before an event is appended to a task, and
 * allows earlier events to be removed; mcp_store_task_replace() is called after
 * that, and removes them. */
void mcp_store_task_release(mcp_store_op_t *op, mcp_store_stream_t *st);
void mcp_store_task_replace(mcp_store_op_t *op, mcp_store_stream_t *st);


/* --- mcp_store_session_streams.c --- */

/* Adds a stream that is in no list of its session to the list of streams that
 * linger, or to the other one, as the latest. */
void mcp_store_session_enter(mcp_store_head_t *head,
    mcp_store_entry_t *session, mcp_store_stream_t *st);

/* Moves a stream that has begun or ceased to linger to the other list of its
 * session, as the latest. */
void mcp_store_session_move(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Removes a stream from its session, whose group is freed with its last
 * member. */
void mcp_store_session_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Returns 1 if a session has reached its limit of streams. A limit of 0, or a
 * session of zeros, is no limit. */
int mcp_store_session_crowded(mcp_store_head_t *head,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t limit);


/* --- mcp_store_tenant.c --- */

static inline mcp_store_entry_t *
mcp_store_tenant_of(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return mcp_store_at(head, st->tenant_entry);
}

/* Returns the oldest stream of a tenant's ring, or NULL. */
static inline mcp_store_stream_t *
mcp_store_tenant_first(mcp_store_head_t *head, const mcp_store_entry_t *tenant,
    unsigned k)
{
    mcp_store_link_t  *newest;

    if (tenant->u.tenant.ring[k] == 0) {
        return NULL;
    }

    newest = mcp_store_at(head, tenant->u.tenant.ring[k]);

    return mcp_store_container(head, newest->next, mcp_store_stream_t,
                               link[MCP_LINK_EVICT]);
}

/* Returns 1 if a stream is in a ring, one of MCP_EVICT_.... */
static inline int
mcp_store_in_ring(const mcp_store_stream_t *st, unsigned k)
{
    return st->evict == k + 1;
}

int mcp_store_tenant_is_nobody(const unsigned char id[MCP_DIGEST_LEN]);

/* Returns the group that contains a tenant's group, or NULL. */
mcp_store_entry_t *mcp_store_tenant_up(mcp_store_head_t *head,
    const mcp_store_entry_t *tenant);

/* Finds or creates a tenant's group and the groups that contain it. The caller
 * has made room for MCP_TENANT_LEVELS entries, and then counts something in
 * them. Returns NULL if there is no room. */
mcp_store_entry_t *mcp_store_tenant_group(mcp_store_op_t *op,
    const unsigned char id[MCP_DIGEST_LEN]);

/* Returns the number of chunks that a stream counts as. */
uint32_t mcp_store_tenant_size(const mcp_store_stream_t *st);

/* Add a stream to its tenant's group, or remove it; the group is freed with its
 * last member. */
void mcp_store_tenant_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *tenant);
void mcp_store_tenant_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Moves a stream to the ring of its tenant that matches its state. */
void mcp_store_tenant_settle(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Returns 1 if a stream is an idle listener: it has had a reader or waited for
 * one long enough, has none now, and has no unsent event. */
int mcp_store_stream_idle(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Returns the ring that matches a stream's state, or MCP_EVICT_MAX. */
unsigned mcp_store_stream_ring(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Adds n, modulo 2^32, to the number of chunks of one of a stream's logs. */
void mcp_store_tenant_resize(mcp_store_op_t *op, const mcp_store_log_t *log,
    uint32_t n);

/* Returns the number of chunks that n subscriptions count as: an entry each,
 * and one for their topic. */
uint32_t mcp_store_subs_chunks(uint32_t n);

/* Sets the number of a stream's subscriptions, and counts their chunks. */
void mcp_store_tenant_subs(mcp_store_head_t *head, mcp_store_stream_t *st,
    uint32_t n);

/* Count a value in its tenant's group, or remove it from the count. The first
 * returns NULL if there is no room for the group. */
mcp_store_entry_t *mcp_store_tenant_value_enter(mcp_store_op_t *op,
    const unsigned char id[MCP_DIGEST_LEN]);
void mcp_store_tenant_value_leave(mcp_store_op_t *op, uint32_t group);

/* Add a value to its tenant's ring of pushed values as the newest, or remove
 * it; the second does nothing for a value that is in no ring. */
void mcp_store_tenant_push(mcp_store_op_t *op, mcp_store_entry_t *e);
void mcp_store_tenant_pull(mcp_store_op_t *op, mcp_store_entry_t *e);

/* Returns the oldest value of a group's ring, or NULL. */
mcp_store_entry_t *mcp_store_tenant_oldest(mcp_store_head_t *head,
    const mcp_store_entry_t *group);


/* --- mcp_store_quota.c --- */

/* Returns the quota of bytes in chunks, as streams store it. */
uint32_t mcp_store_tenant_quota(const mcp_tenant_t *tenant);

/* Returns 1 if the tenant's quota lets op->keep take n more chunks. If the
 * tenant uses little, evicts unread streams of larger tenants for it. A short
 * response is always allowed. */
int mcp_store_tenant_allows(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, int answer);

/* Returns 1 if mcp_store_tenant_allows() would succeed; evicts nothing. */
int mcp_store_tenant_would_allow(mcp_store_op_t *op,
    const mcp_store_stream_t *st, uint32_t n);

/* Returns 1 if n chunks exceed the tenant's whole quota. */
int mcp_store_tenant_large(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n);

/* Return 1 if the tenant's quotas let it create a stream, for which unread
 * streams may be evicted, or a value. */
int mcp_store_tenant_may_create(mcp_store_op_t *op, const mcp_tenant_t *tenant,
    mcp_stream_kind_e kind, uint32_t chunks);
int mcp_store_tenant_may_value(mcp_store_op_t *op, const mcp_tenant_t *tenant);


/* --- mcp_store_evict.c --- */

/*
 * Returns the stream to evict next, or NULL. In this order:
 *
 *   1.  an idle listener of op's tenant
 *   2.  an idle listener of the largest tenant
 *   3.  a stream of op's tenant that lingers
 *   4.  a stream of the largest tenant that lingers, if that tenant is larger
 *       than op's
 *   5.  the result of mcp_store_victim_unread()
 */
mcp_store_stream_t *mcp_store_victim(mcp_store_op_t *op);

/*
 * Returns the stream to evict next so that op's tenant is not rejected, or
 * NULL. It belongs to the largest tenant, if that is larger than op's, and is
 *
 *   1.  the oldest call that is over, without a reader and without a principal,
 *       or
 *   2.  the oldest other call without a reader.
 *
 * Streams without a tenant make room for new ones without a tenant. Returns
 * NULL if the room is for the store itself or for a mirror.
 */
mcp_store_stream_t *mcp_store_victim_unread(mcp_store_op_t *op);

/* Evicts a stream and notifies its owner. */
void mcp_store_evict(mcp_store_op_t *op, mcp_store_stream_t *st);


/* --- mcp_store_consumer.c --- */

/* Displaces a consumer, and leaves a tombstone by which it is notified. */
void mcp_store_consumer_displace(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Makes (slot, handle) the consumer of the events after "after". Sets *taken to
 * 1 if there was another consumer. */
void mcp_store_consumer_take(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint32_t slot, uint64_t handle, uint64_t after, int *taken);

/* Handles that the consumer left at now; 0: at an unknown time. */
void mcp_store_consumer_gone(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);


/* --- mcp_store_join.c --- */

/*
 * Checks whether a stream that others may join can be created.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_EXISTS  there is a stream to join
 *   MCP_ERR_DENIED  there is one, but it has other params
 */
int mcp_store_join_check(mcp_store_op_t *op, const mcp_stream_spec_t *spec,
    uint64_t now);

/* Allows others to join a new stream, in place of an older one. e is the result
 * of mcp_store_entry_take(). */
void mcp_store_join_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *e, const unsigned char key[MCP_DIGEST_LEN]);

/* Allows others to join a mirror, in place of another stream. */
void mcp_store_join_name(mcp_store_op_t *op, mcp_store_stream_t *st,
    const unsigned char key[MCP_DIGEST_LEN]);

/* Ends joining of a stream, and notifies the joined readers. */
void mcp_store_join_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Finds the stream of a JOIN entry again, or frees the entry. */
void mcp_store_repair_join(mcp_store_op_t *op, mcp_store_entry_t *e);


/* --- mcp_store_joined_reader.c --- */

/* Returns this process's reader with that handle, or NULL. */
mcp_store_entry_t *mcp_store_reader_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t handle);

/* Handles that a reader left at now; 0: at an unknown time. */
void mcp_store_reader_gone(mcp_store_op_t *op, mcp_store_entry_t *e,
    uint64_t now);

/* Marks a stream for all its joined readers. */
void mcp_store_readers_mark(mcp_store_op_t *op, mcp_store_entry_t *join);

/* Returns the slot of a joined reader other than slot "but", or
 * MCP_STORE_NO_SLOT. */
uint32_t mcp_store_readers_slot(mcp_store_op_t *op, mcp_store_entry_t *join,
    uint32_t but);

/* Frees the readers of a process that has ended. */
void mcp_store_readers_retire(mcp_store_op_t *op, uint32_t index,
    uint32_t slot);

/* Adds all readers to their lists again, after the streams are in theirs. */
void mcp_store_repair_readers(mcp_store_op_t *op);


/* --- mcp_store_replication.c --- */

/* Set *checkpoint to the state of a stream for its readers, or for its
 * owner. */
void mcp_store_replication_checkpoint(mcp_store_head_t *head,
    const mcp_store_stream_t *st, mcp_store_checkpoint_t *checkpoint);
void mcp_store_replication_claim(const mcp_store_stream_t *st,
    mcp_store_checkpoint_t *checkpoint);

/* Marks events up to seq as replicated. */
void mcp_store_replication_reach(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t seq);

/* Applies an acknowledged state; otherwise as mcp_store_acked(). */
int mcp_store_replication_ack(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_checkpoint_t *checkpoint);

/* Initializes the replication data of a stream, which are zero. */
void mcp_store_replication_fill(mcp_store_op_t *op,
    mcp_store_replication_t *repl, const mcp_store_stream_t *st);

/* Fills in the fields of info for a replicated stream or a mirror. */
void mcp_store_replication_info(mcp_store_head_t *head,
    const mcp_store_stream_t *st, mcp_stream_info_t *info);

/* Returns 1 if a client may get the stream's id. */
unsigned mcp_store_replication_acknowledged(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Records the position of the last broadcast that a listener has received. */
static inline void
mcp_store_replication_received(mcp_store_head_t *head,
    const mcp_store_stream_t *st, uint64_t ms, uint64_t n)
{
    mcp_store_replication_t  *repl;

    repl = mcp_store_replication_of(head, st->repl);
    repl->received.ms = ms;
    repl->received.n = n;
}

/* Wakes the replicator of a stream. */
void mcp_store_replication_mark(mcp_store_op_t *op, mcp_store_stream_t *st);

static inline void
mcp_store_mark_replication(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (st->repl) {
        mcp_store_replication_mark(op, st);
    }
}

/* Frees a replicated stream and notifies its replicator. */
void mcp_store_replication_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/*
 * mcp_store_replication_drain() removes the link of a replication chunk from
 * its slot's list and reports it to that process.
 * mcp_store_replication_adopt() removes the chunk from the list of those
 * without an owner and makes this process its replicator.
 */
void mcp_store_replication_drain(mcp_store_op_t *op, uint32_t index,
    mcp_store_wake_t *out);
mcp_store_stream_t *mcp_store_replication_adopt(mcp_store_op_t *op,
    uint32_t index);

/* Makes another process, or none, the replicator. */
void mcp_store_replication_pass(mcp_store_op_t *op,
    mcp_store_replication_t *repl, uint32_t slot);

/* Removes a slot that has ended from a replication chunk. */
void mcp_store_replication_retire(mcp_store_op_t *op, uint32_t index,
    uint32_t slot);

/* mcp_store_repair_replications() finds the streams of replication chunks
 * again, before streams are linked; mcp_store_repair_replicators() wakes the
 * replicators after that. */
void mcp_store_repair_replications(mcp_store_op_t *op);
void mcp_store_repair_replicators(mcp_store_op_t *op);


/* --- mcp_store_mirror.c --- */

/* Initializes a mirror while its stream is created. */
void mcp_store_mirror_begin(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_begin_t *begin);

/* Applies the known state of a mirror's stream, as far as its events are
 * here. */
void mcp_store_mirror_count(mcp_store_stream_t *st,
    const mcp_store_replication_t *repl);

/* Returns 1 if the reader that is about to watch a mirror was displaced. */
int mcp_store_mirror_taken(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Returns 1 if the reader that is about to watch the stream itself was
 * displaced; it is then forgotten. */
int mcp_store_remote_consumer_taken(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Returns 1 if an unread mirror is due to be freed. */
int mcp_store_mirror_due(const mcp_store_stream_t *st, uint64_t now);


/* --- mcp_store_hash.c --- */

uint64_t mcp_store_hash(const mcp_store_head_t *head, uint32_t salt,
    const unsigned char key[16]);

/* Adds an entry to the hash. */
void mcp_store_entry_insert(mcp_store_head_t *head, mcp_store_entry_t *e);

/* Returns an entry without a kind, or NULL if there is no room. */
mcp_store_entry_t *mcp_store_entry_take(mcp_store_op_t *op, int all);

/* Gives an entry its kind, with which it becomes valid. */
void mcp_store_entry_publish(mcp_store_head_t *head, mcp_store_entry_t *e,
    unsigned kind);

/* Finds a value (by purpose), a subscription (by stream), a reader (by tag), or
 * another entry, for which purpose and stream are 0. */
mcp_store_entry_t *mcp_store_entry_find(mcp_store_head_t *head, unsigned kind,
    unsigned purpose, const unsigned char key[16], uint32_t stream);

/* Returns the tenant with the most values among the tenants of 64 pushed values
 * that follow a key's hash, or NULL if no value is found. */
mcp_store_entry_t *mcp_store_entry_most_values(mcp_store_head_t *head,
    const unsigned char key[16]);

/* Changes the key of an entry. */
void mcp_store_entry_rename(mcp_store_head_t *head, mcp_store_entry_t *e,
    const unsigned char key[16]);

/* Frees an entry, and its chunk with the last entry in it. */
void mcp_store_entry_free(mcp_store_op_t *op, mcp_store_entry_t *e);

/* Finds or creates a group. Returns NULL if there is no room. */
mcp_store_entry_t *mcp_store_group(mcp_store_op_t *op, unsigned kind,
    const unsigned char key[16]);

/* Removes one member from a group, which is freed with the last one. */
void mcp_store_group_leave(mcp_store_op_t *op, uint32_t ref);


/* --- mcp_store_topic.c --- */

/* Adds a subscription to the lists of its topic and its stream. */
void mcp_store_sub_link(mcp_store_head_t *head, mcp_store_entry_t *topic,
    mcp_store_entry_t *e);
void mcp_store_sub_free(mcp_store_op_t *op, mcp_store_entry_t *e);


/* --- mcp_store_call_stats.c --- */

/* Initializes the rows of a new region. */
void mcp_store_call_stats_format(mcp_store_head_t *head);

/* Does the same as mcp_store_call_stats_failed(), with the lock held. */
void mcp_store_call_stats_note(mcp_store_head_t *head,
    const mcp_call_stats_failure_t *failure);

static inline void
mcp_store_call_stats_add(mcp_store_head_t *head, uint32_t row,
    mcp_outcome_e outcome)
{
    atomic_fetch_add_explicit(&mcp_store_call_stats_all(head)[row]
                                   .results[outcome],
                              1, memory_order_relaxed);
}


/* --- mcp_store_active_request.c --- */

/* Removes the active calls of an ended process as lost. */
void mcp_store_active_retire(mcp_store_head_t *head, unsigned slot);


/* --- mcp_store_value.c --- */

/* Returns the maximum number of values. Clients create them, so they get an
 * eighth of the region, and streams the rest. */
static inline uint32_t
mcp_store_values_max(const mcp_store_head_t *head)
{
    return head->chunks / MCP_STORE_VALUES * MCP_STORE_ENTRIES;
}

/* Frees the expired values of an entry chunk and returns their number. */
size_t mcp_store_values_expire(mcp_store_op_t *op, uint32_t index,
    uint64_t now);


/* --- mcp_store_repair.c --- */

/* Rebuilds all derived data. May be interrupted and started again. */
void mcp_store_repair(mcp_store_op_t *op);


/* --- mcp_store_repair_log.c --- */

/*
 * Scans a whole log, sets the type of each chunk to MCP_CHUNK_MARK (none may
 * have it before), *out to the correct head of the log, and *rec to the last
 * record. With "fix", corrects the derived data in the chunks. Returns 1, or 0
 * if the log is broken.
 */
int mcp_store_log_scan(mcp_store_head_t *head, const mcp_store_log_t *log,
    int fix, mcp_store_log_t *out, mcp_store_record_t *rec);

/* Scans a log with "fix", and corrects *log. */
int mcp_store_repair_log(mcp_store_head_t *head, mcp_store_log_t *log,
    mcp_store_record_t *rec);


/* --- mcp_store_repair_link.c --- */

/* Add values and subscriptions, and then streams, to their hashes, groups and
 * lists again. */
void mcp_store_repair_insert(mcp_store_op_t *op);
void mcp_store_repair_links(mcp_store_op_t *op);


#endif /* MCP_STORE_LAYOUT_H_INCLUDED */
