/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The layout of the region, and the functions that the store's files share.
 * Only files of this folder and tests include it.
 *
 *   mcp_store.c                   format, lock, sweep, counters
 *   mcp_store_process.c           processes: attach, drain, reclaim, adopt
 *   mcp_store_chunk.c             chunks, lists, private chains
 *   mcp_store_record_queue.c      records in a chain of chunks
 *   mcp_store_stream_create.c     creation of a stream
 *   mcp_store_stream.c            session, states, end and times of a stream
 *   mcp_store_append.c            retention, appending, room in the region
 *   mcp_store_inbox.c             post, take, cancel
 *   mcp_store_task.c              tasks: keep, lookup
 *   mcp_store_consumer.c          watch, unwatch, read
 *   mcp_store_join_calls.c        calls that other requests may join, and their
 *                                 joined readers
 *   mcp_store_replication.c       replicated streams, the last visible event,
 *                                 client input from other nodes
 *   mcp_store_replication_read.c  the interface of the replicator, and a
 *                                 consumer at another node
 *   mcp_store_mirror.c            mirrors of streams of other nodes
 *   mcp_store_tenant.c            accounting of each tenant
 *   mcp_store_quota.c             quotas of each tenant, eviction
 *   mcp_store_entry.c             entries and groups
 *   mcp_store_value.c             small values
 *   mcp_store_upstream.c          sessions at MCP servers; statistics of MCP
 *                                 servers
 *   mcp_store_topic.c             subscriptions, publishing
 *   mcp_store_call_stats.c        outcomes, statistics of finished calls,
 *                                 active requests, durations of requests
 *   mcp_store_own_node.c          the zone as a node of a cluster
 *   mcp_store_repair.c            repair
 *
 * docs/internals/store.md explains how the store works.
 *
 * There are two kinds of references: the index of a chunk, and a "ref", the
 * distance from the region's start in units of 8 bytes, for entries and list
 * links. In both cases, 0 means that there is no chunk, entry or link.
 */


#ifndef MCP_STORE_LAYOUT_H_INCLUDED
#define MCP_STORE_LAYOUT_H_INCLUDED


#include <stdatomic.h>

#include "store/mcp_store_call_stats.h"
#include "store/mcp_store_own_node.h"
#include "store/mcp_store_replication.h"
#include "store/mcp_store_upstream.h"


#define MCP_STORE_MAGIC      0x4d43502d53544f52ULL
#define MCP_STORE_VERSION    26


/* Maximum length of a message that is copied while the lock is held, in bytes.
 * A longer message is copied to a private chain before the lock is taken. */
#define MCP_STORE_BIG        (64 * 1024)

/* Maximum length of a message, in bytes. */
#define MCP_STORE_LEN_MAX    0x7fffffffu

/* Number of chunks taken for a private chain while the lock is held once. */
#define MCP_STORE_BATCH      1024

/* Number of chunks from one mark of a log to the next mark. A mark is a chunk
 * that has the index of the next mark, so that mcp_store_log_seek() need not
 * visit each chunk. */
#define MCP_STORE_MARK       64

/* The reserve is 1/32 of all chunks, within these bounds. Only responses,
 * tombstones and some entries, such as values and groups, may take its chunks,
 * so that a full region does not keep calls and sessions from ending. */
#define MCP_STORE_RESERVE_MIN  8
#define MCP_STORE_RESERVE_MAX  2048

/* Minimum number of chunks of a stream with one event. */
#define MCP_STORE_LEAST        4

/* For quotas that are MCP_QUOTA_SHARE: the maximum number of calls of all
 * tenants is a quarter of the number of chunks, and the maximum number of
 * listeners of all tenants is half of the number of chunks. For all quotas:
 * values without text may take at most an eighth of the chunks, and values with
 * text another eighth. */
#define MCP_STORE_CALLS        4
#define MCP_STORE_LISTENERS    2
#define MCP_STORE_VALUES       8

/* For quotas that are MCP_QUOTA_SHARE: the last eighth of each maximum of all
 * tenants (chunks, calls, listeners, values) is reserved for tenants that use
 * little. Such a tenant uses at most 1/128 of this maximum, or at most twice
 * MCP_STORE_LEAST. */
#define MCP_STORE_LAST         8
#define MCP_STORE_LITTLE       128

/* The quotas of networks of IPv6 addresses: a /56 has this many times the quota
 * of a tenant, and a /48 has this many times the quota of a /56. */
#define MCP_STORE_WIDER        2

/* Number of ranks: classes of tenants by their number of chunks, four for each
 * power of two. */
#define MCP_STORE_RANKS        128

/* mcp_store_stream_t.quota of a stream whose tenant has no quota of bytes. */
#define MCP_STORE_NO_QUOTA     UINT32_MAX

/* The owner_slot of a stream whose owner died. */
#define MCP_STORE_OWNERLESS     0xfffffffeu

/* The prev or next of a link at the end of a list. A link whose prev and next
 * are 0 is in no list. */
#define MCP_STORE_END        0xffffffffu

#define mcp_store_align8(n)  (((n) + 7) & ~(uint32_t) 7)


/* Keeps the compiler from moving stores across a point on which a repair
 * relies. A CPU barrier is not needed: if a process is killed, the stores of
 * all instructions that it has executed remain. */
#define mcp_store_barrier()  atomic_signal_fence(memory_order_seq_cst)


typedef struct {
    uint32_t  prev;                    /* refs of the neighbours in the list;
                                          0: the link is in no list */
    uint32_t  next;
} mcp_store_link_t;


typedef struct {
    uint32_t  first;                   /* refs of the first and the last link;
                                          0: the list is empty */
    uint32_t  last;
} mcp_store_list_t;


/* --- chunks --- */

/* The type of a chunk. Chunks with a stream, entries or replication data have
 * a type, so that a scan of the region finds them. Every other chunk has the
 * type NONE, whether it is free or has data. It has data if a chunk with a type
 * or a slot refers to it, directly or through a chain. */
enum {
    MCP_CHUNK_NONE = 0,
    MCP_CHUNK_STREAM,
    MCP_CHUNK_ENTRY,
    MCP_CHUNK_REPLICATION,
    MCP_CHUNK_MARK,                    /* in use, because another chunk refers
                                          to it; only while a repair or a test
                                          scans the region */
    MCP_CHUNK_FREE                     /* free; only while a test scans the
                                          region */
};


#define MCP_CHUNK_HEAD  32
#define MCP_CHUNK_ROOM  (MCP_STORE_CHUNK - MCP_CHUNK_HEAD)

typedef struct {
    uint32_t  next;                    /* index of the next chunk in the chain;
                                          0: none */
    uint32_t  skip;                    /* in a mark of a log: index of the next
                                          mark; in the first chunk of a private
                                          chain: index of the first chunk of the
                                          slot's next private chain */
    uint16_t  used;                    /* offset of the end of the data */
    uint16_t  first;                   /* offset of the first record that starts
                                          in this chunk; 0: none */
    uint32_t  count;                   /* in the first chunk of a private chain:
                                          number of chunks of this chain; in a
                                          chunk with a session at an MCP server:
                                          the handle of that server's row in the
                                          statistics
                                          (mcp_store_upstream_row_t) */
    uint64_t  seq;                     /* number of the record at "first"; in a
                                          chunk with a session at an MCP server:
                                          time, ms, until which the processes in
                                          "total" use the session, unless they
                                          renew this time */
    uint64_t  total;                   /* bytes of payload of all records of
                                          the log before the one at "first",
                                          including removed records; in a chunk
                                          with a session at an MCP server: a bit
                                          for each process that uses the
                                          session, see
                                          mcp_store_upstream.c */
    char      data[MCP_CHUNK_ROOM];
} mcp_store_chunk_t;


/* A chain of chunks. */
typedef struct {
    uint32_t  first;                   /* indexes of the first and the last
                                          chunk */
    uint32_t  last;
    uint32_t  count;                   /* number of chunks; 0: the chain is
                                          empty */
} mcp_store_chain_t;


/* A position in a chain. */
typedef struct {
    uint32_t  chunk;                   /* index of a chunk */
    uint32_t  offset;                  /* offset from the start of the chunk's
                                          head, bytes */
} mcp_store_pos_t;


/* --- logs --- */

/* The head of a record in a log; the payload follows. The head is aligned to 8
 * bytes and is always in one chunk. The payload may continue in the next
 * chunks. */
typedef struct {
    uint32_t  len;
    uint16_t  answers;                 /* of an event: 1 + number of the request
                                          that it answers or concerns, with
                                          MCP_STORE_RESULT(), _ERROR or _ABOUT;
                                          0: it concerns no single request */
    uint16_t  type;                    /* of an event: the stream's state after
                                          it; of a post: mcp_inbox_item_e */
    uint64_t  seq;
} mcp_store_record_t;


#define MCP_RECORD_HEAD  ((uint32_t) sizeof(mcp_store_record_t))


/* A log: records in a chain of chunks. An empty log has head 0, and "first"
 * is last + 1. An append is committed by the write to "last". */
typedef struct {
    uint32_t  head;                    /* indexes of the first and the last
                                          chunk */
    uint32_t  tail;
    uint32_t  offset;                  /* offset of record "first" in chunk
                                          "head" */
    uint32_t  mark;                    /* index of the chunk that is the last
                                          mark */
    uint32_t  since;                   /* number of chunks after the last
                                          mark */
    uint32_t  chunks;                  /* number of chunks */
    uint64_t  first;                   /* numbers of the oldest and the newest
                                          record */
    uint64_t  last;
    uint64_t  bytes;                   /* bytes of payload of the records first
                                          to last */
    uint64_t  total;                   /* bytes of payload of all records ever
                                          appended */
} mcp_store_log_t;


/* --- streams --- */

/* The links of a stream: the indexes of mcp_store_stream_t.link. The dirty list
 * of a slot contains the streams for which its process was woken. */
enum {
    MCP_LINK_OWNER = 0,                /* link in the dirty list of the owner's
                                          slot, or, after the owner's death, in
                                          the list of ownerless streams */
    MCP_LINK_CONSUMER,                 /* link in the dirty list of the
                                          consumer's slot */
    MCP_LINK_SESSION,                  /* link in one of the two lists of the
                                          session, latest stream first */
    MCP_LINK_EVICT,                    /* link in a ring of the tenant, one of
                                          MCP_EVICT_... */
    MCP_LINK_RANK,                     /* only for the first stream in a ring of
                                          a tenant: link in the list of the
                                          first streams in this ring of all
                                          tenants of the same rank */
    MCP_LINK_BLOCKED_ON_SPACE,         /* link in the list of streams whose
                                          owners wait for room in the region */
    MCP_LINK_MAX
};


/* A tombstone is the rest of a freed stream, or of a displaced consumer, until
 * the processes concerned have been notified by mcp_store_drain(). */
#define MCP_STREAM_LIVE       0x6c697665u
#define MCP_STREAM_TOMBSTONE  0x676f6e65u


/* A stream. For the fields without a comment see mcp_stream_spec_t and
 * mcp_stream_info_t. */
typedef struct {
    uint32_t           next;           /* index of the next stream in the hash
                                          chain; 0: none. While a repair sorts
                                          the streams: ref of the next stream
                                          in the sorted list */
    uint32_t           live;           /* MCP_STREAM_LIVE or
                                          MCP_STREAM_TOMBSTONE; written after
                                          all other fields */

    unsigned char      id[MCP_STREAM_ID_LEN];
    unsigned char      session[MCP_DIGEST_LEN];
    unsigned char      principal[MCP_DIGEST_LEN];
    unsigned char      tenant[MCP_DIGEST_LEN];
    unsigned char      params[MCP_DIGEST_LEN];

    uint32_t           self;           /* index of the stream; in the tombstone
                                          of a consumer: index of the consumer's
                                          stream */
    uint32_t           ordinal;        /* number of the stream in the order of
                                          creation */
    uint32_t           session_group;  /* refs of the groups of the session and
                                          the tenant */
    uint32_t           tenant_entry;
    mcp_store_link_t   link[MCP_LINK_MAX];
    mcp_store_list_t   subs;
    uint32_t           n_subs;
    uint32_t           revision;

    uint32_t           text;           /* first chunk of the chain with method,
                                          name and request */
    uint32_t           text_chunks;
    uint32_t           request_len;
    uint16_t           method_len;
    uint16_t           name_len;

    uint8_t            kind;
    uint8_t            state;
    uint8_t            blocked;        /* 1: an append returned MCP_ERR_LIMIT,
                                          and the owner waits for room within
                                          the stream's limits */
    uint8_t            taken;          /* 1: the owner has taken a post or a
                                          cancellation, and has not found its
                                          inbox empty since */
    uint32_t           need;           /* number of chunks for which the owner
                                          waits, if it is blocked on space */

    uint32_t           owner_slot;
    uint32_t           consumer_slot;
    uint64_t           owner_handle;
    uint64_t           consumer_handle;

    uint64_t           created;
    uint64_t           expires;        /* of a listener: when its session
                                          expires; of a call: when it
                                          expires as a task, or 0 if it is
                                          not a task */
    uint64_t           max_wait;
    uint64_t           linger;
    uint64_t           unattended;     /* since when the stream has no
                                          reader; 0: it has one, or the time
                                          is unknown, and the next sweep
                                          sets it */
    uint64_t           ended;          /* when the stream ended; 0: it has not
                                          ended, or the time is unknown, and
                                          the next sweep sets it */
    uint64_t           changed;        /* time of the last event or change of
                                          state */

    uint32_t           max_events;
    uint32_t           joined;         /* value of mcp_store_head_t.ordinal
                                          when the stream entered its session's
                                          list */
    uint64_t           max_bytes;
    uint32_t           alias;
    uint32_t           generation;
    uint8_t            promised;       /* bits MCP_PROMISE_...: promises to the
                                          client */
    uint8_t            seen;           /* 1: the stream had a reader, or has
                                          waited long enough for one, so it may
                                          be evicted */
    uint8_t            result;         /* largest n of MCP_STORE_RESULT(n) among
                                          the responses */
    uint8_t            held;           /* 0: requests may join the stream; 1:
                                          not before mcp_store_join_release();
                                          2: as 1, and the stream was created
                                          with join_once */
    uint32_t           quota;          /* quota of the tenant's bytes, in
                                          chunks; 0: a share of the free room;
                                          or MCP_STORE_NO_QUOTA */
    uint32_t           repl;           /* index of the chunk with the stream's
                                          mcp_store_replication_t, by which a
                                          repair sets it again; 0: the stream is
                                          neither replicated nor a mirror */
    uint32_t           takeovers;      /* number of consumers that were
                                          displaced since the last time that
                                          a consumer left without being
                                          displaced */
    uint32_t           join;           /* ref of the stream's JOIN entry; 0:
                                          the stream cannot be joined */
    uint32_t           given;          /* of a task: bit k: question k of the
                                          last event has its answer */
    uint32_t           kept_after;     /* time from the creation of the stream
                                          until it became a task, ms */
    uint8_t            evict;          /* number + 1 of the tenant's ring that
                                          contains the stream; 0: none. A
                                          repair sets it again */
    uint8_t            need_all;       /* 1: the owner waits for room for a
                                          response, which may use the
                                          reserve */

    uint64_t           confirmed_seq;  /* last event that a client has
                                          confirmed */
    uint64_t           read_after;     /* event after which the last consumer
                                          began to read */
    uint64_t           sent_seq;
    uint64_t           sent_bytes;     /* bytes of the kept events up to
                                          sent_seq. A repair sets it again */
    uint64_t           applied_seq;    /* last event that is counted in
                                          "state", "answered", "failed",
                                          "failed_seq" and "result" */
    uint64_t           answered;
    uint64_t           failed;
    uint64_t           failed_seq;
    uint64_t           cancelled;      /* bit k: request k was cancelled,
                                          and the owner has not been
                                          notified yet */

    mcp_store_log_t    events;
    mcp_store_log_t    inbox;
} mcp_store_stream_t;


#define MCP_REPLICATION_LIVE  0x73686172u

/* The additional data of a replicated stream or a mirror. */
typedef struct {
    uint32_t                live;      /* MCP_REPLICATION_LIVE; written after
                                          all other fields */
    uint32_t                stream;    /* index of the stream; 0: the stream
                                          was freed, and the replicator has to
                                          be notified */
    unsigned char           id[MCP_STREAM_ID_LEN];
    mcp_store_link_t        link;      /* link in the dirty list of the
                                          replicator's slot, or in the list of
                                          ownerless streams */
    uint32_t                slot;      /* slot of the process that replicates
                                          the stream or feeds the mirror;
                                          MCP_STORE_OWNERLESS: the replicator
                                          died; MCP_STORE_NO_SLOT: no process
                                          feeds the mirror */
    uint8_t                 mirror;
    uint8_t                 sync;      /* 1: readers see acknowledged events
                                          only */
    uint8_t                 created;   /* 1: Redis has acknowledged the stream
                                          at least once */
    uint8_t                 which;     /* index of the valid element of
                                          "known" */
    mcp_store_checkpoint_t  acked;
    uint64_t                reader;    /* number of the stream's latest consumer
                                          among the consumers at all nodes */
    mcp_node_position_t     received;  /* of a listener: position of the last
                                          broadcast that the listener has
                                          received */

    uint64_t                here;      /* of a mirror: number of its reader;
                                          otherwise: number of the local reader
                                          that is about to watch the stream, or
                                          0 */

    /* the following fields count client input from other nodes, which is
     * numbered from 1 on */
    uint64_t                posts;     /* highest number that was passed to
                                          mcp_store_remote_inputs(): this input
                                          has arrived or will arrive */
    uint64_t                got;       /* highest number of client input
                                          that has arrived; of a mirror:
                                          highest number that the owner has
                                          processed, as far as this node has
                                          been notified */

    /* the following two fields are not used for mirrors */
    uint64_t                taken;     /* value of "got" when the owner last
                                          had no posts left to process */
    uint32_t state_requests;           /* number of times that the
                                          replicator still has to send the
                                          stream's state */

    /* the following fields are used for mirrors only */
    uint64_t                last;      /* last event that the owner is known to
                                          have; the mirror may lack it. Of a
                                          freed mirror: last event that was sent
                                          to its reader if the mirror was over,
                                          otherwise 0 */
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
    MCP_ENTRY_READER,                  /* a joined reader; its key is the id of
                                          the stream */
    MCP_ENTRY_SESSION,                 /* SESSION, TENANT and TOPIC are groups,
                                          which a repair rebuilds */
    MCP_ENTRY_TENANT,
    MCP_ENTRY_TOPIC,
    MCP_ENTRY_MAX
};


/* The rings of a tenant's streams that may be evicted. In each ring, the
 * stream that entered it first comes first. */
enum {
    MCP_EVICT_IDLE = 0,                /* listeners without a consumer and
                                          without unsent events */
    MCP_EVICT_LINGER,                  /* streams that are over, whose events
                                          were all sent, and that have no
                                          reader; mirrors without a reader */

    /* A stream in the ring OVER or LEFT counts towards its tenant's quota. It
     * is evicted only if a stream, an event or a value of a tenant would be
     * rejected otherwise. */
    MCP_EVICT_OVER,                    /* calls that are over, without a reader
                                          and without a principal, including
                                          tasks */
    MCP_EVICT_LEFT,                    /* all other calls without a reader,
                                          except tasks of a principal */
    MCP_EVICT_MAX
};


typedef struct {
    uint32_t       next;               /* ref of the next entry in the hash
                                          chain, or, while a repair sorts the
                                          subscriptions, in the sorted list;
                                          0: none */
    uint8_t        kind;               /* MCP_ENTRY_...; written last, so that
                                          only complete entries are valid */
    uint8_t        purpose;            /* in a value: mcp_value_e; in the group
                                          of a tenant: 1 if the group counts the
                                          values with text, otherwise 0 */
    uint8_t        pushed;             /* 1 for a value that may be removed to
                                          make room for a newer one */
    uint8_t        rank;               /* in the group of a tenant: its class by
                                          number of chunks, see
                                          MCP_STORE_RANKS */
    unsigned char  key[MCP_DIGEST_LEN];

    union {
        struct {
            uint64_t          expires;
            uint32_t          value;   /* the number; if the purpose has text:
                                          index of the chunk with the text, or 0
                                          while a process changes the text */
            uint32_t          group;   /* ref of the tenant's group; 0: none */
            unsigned char     tenant[MCP_DIGEST_LEN];
            mcp_store_link_t  ring;    /* link in the ring of the tenant's
                                          pushed values */
        } value;

        struct {
            uint32_t          stream;
            uint32_t          ordinal;
            mcp_store_link_t  topic;   /* link in the list of the topic's
                                          subscriptions, newest first */
            mcp_store_link_t  peer;    /* link in the list of the stream's
                                          subscriptions */
        } sub;

        struct {
            uint32_t          stream;
            uint32_t          count;   /* number of joined readers */
            mcp_store_list_t  readers;
            unsigned char     id[MCP_STREAM_ID_LEN];   /* id of the stream */
        } join;

        struct {
            uint64_t          handle;
            uint32_t          slot;
            uint32_t          tag;     /* hash value of handle and slot */
            mcp_store_link_t  peer;    /* link in the list of the stream's
                                          joined readers */
            mcp_store_link_t  dirty;   /* link in the dirty list of the reader's
                                          slot */
        } reader;

        struct {
            mcp_store_list_t  list;    /* streams of a session that do not
                                          linger, or subscriptions of a
                                          topic */
            mcp_store_list_t  sent;    /* streams of a session that linger */
            uint32_t          count;   /* number of members */
            uint32_t          active;  /* number of a session's streams that do
                                          not linger */
        } group;

        struct {
            uint32_t          ring[MCP_EVICT_MAX]; /* for each ring, the ref of
                                                      the newest stream's link.
                                                      The link of the oldest
                                                      stream follows it. 0: the
                                                      ring is empty */
            uint32_t          streams; /* number of calls that do not linger */
            uint32_t          listeners;
            uint32_t          values;
            uint32_t          chunks;  /* number of chunks of all the tenant's
                                          streams */
            uint32_t          held;    /* number of chunks of the tenant's
                                          streams that are neither in the ring
                                          IDLE nor in LINGER */
            uint32_t          pushed;  /* ref of the ring link of the newest
                                          pushed value. The link of the oldest
                                          one follows it. 0: there is none */
        } tenant;
    } u;
} mcp_store_entry_t;


#define MCP_STORE_ENTRIES  7

typedef struct {
    mcp_store_link_t   partial;        /* link in the list of entry chunks that
                                          have a free entry */
    uint32_t           used;           /* bit k: entry k is used */
    uint32_t           spare[5];
    mcp_store_entry_t  entry[MCP_STORE_ENTRIES];
} mcp_store_entries_t;


/* --- call statistics --- */

/* A row of the call statistics. It is valid if its index is below
 * head->n_call_stats. For the fields without a comment see
 * mcp_call_stats_t. */
typedef struct {
    unsigned char      key[MCP_DIGEST_LEN];
    char               endpoint[MCP_CALL_STATS_ENDPOINT];
    char               name[MCP_CALL_STATS_NAME];
    uint8_t            kind;
    _Atomic uint32_t   failed;         /* outcome << 16 | reason, both of the
                                          last failure */
    _Atomic uint64_t   failed_at;
    _Atomic uint64_t   sum;
    _Atomic uint64_t   results[MCP_OUTCOME_COUNT];
    _Atomic uint64_t   buckets[MCP_CALL_STATS_BUCKETS];
} mcp_store_call_stats_t;


/* A histogram of durations. */
typedef struct {
    _Atomic uint64_t   word;           /* attributes of the requests in the
                                          histogram, see mcp_duration_word(); 0:
                                          the place is free */
    _Atomic uint64_t   sum;            /* sum of all durations, ms */
    _Atomic uint64_t   buckets[MCP_CALL_STATS_BUCKETS];
} mcp_store_duration_t;

/* Number of histograms at the beginning of the table for the requests whose
 * attributes find no place in the rest of the table: one for successful
 * requests, and one for errors. */
#define MCP_STORE_DURATIONS_REST  2


#define MCP_ACTIVE_WORDS  (offsetof(mcp_active_t, slot) / sizeof(uint64_t))

/* The zone contains the words of mcp_active_t before "slot", and
 * mcp_call_stats_failure_t. mcp_store_head_t.layout does not depend on the
 * sizes of these two, so if one of them changes, MCP_STORE_VERSION must change
 * as well. */
_Static_assert(MCP_ACTIVE_WORDS == 10, "layout of the zone");
_Static_assert(sizeof(mcp_call_stats_failure_t) == 176,
               "layout of the zone");

/* The record of an active request: the fields of mcp_active_t before "slot",
 * as words. Only the process that has taken the record writes its words. A
 * reader compares "owner" before and after reading. */
typedef struct {
    _Atomic uint64_t   owner;          /* number of times that the record was
                                          taken, and the slot, see
                                          mcp_store_call_stats.c */
    _Atomic uint64_t   word[MCP_ACTIVE_WORDS];
} mcp_store_active_t;


/* Number of stored failures: one more than the status shows, because the oldest
 * stored failure may be partly overwritten. */
#define MCP_STORE_FAILURES  (MCP_CALL_STATS_RECENT + 1)


/* --- MCP servers --- */

/* The row of an MCP server. The texts and all members that are not atomic are
 * accessed under the lock. For the members without a comment see
 * mcp_store_upstream_t. */
typedef struct {
    unsigned char      key[MCP_DIGEST_LEN];
    char               endpoint[MCP_CALL_STATS_ENDPOINT];
    char               name[MCP_STORE_UPSTREAM_NAME];
    char               server[MCP_STORE_UPSTREAM_SERVER];
    char               version[MCP_STORE_UPSTREAM_VERSION];
    char               detail[MCP_STORE_UPSTREAM_DETAIL];
    uint64_t           failed_at;
    uint32_t           reason;
    uint32_t           configuration;  /* number of the latest configuration
                                          that has the server */
    uint32_t           complete;       /* 1: the row is valid; written last */
    _Atomic uint32_t   taken;          /* number of times that the row was
                                          taken; may wrap */
    _Atomic uint32_t   form;
    _Atomic uint32_t   revision;
    _Atomic uint32_t   up;             /* mcp_upstream_up_e */
    _Atomic uint32_t   sessions;
    _Atomic uint64_t   opened;
    _Atomic uint64_t   refused;
} mcp_store_upstream_data_t;


/* --- the region --- */

enum {
    MCP_GAUGE_CALLS = 0,
    MCP_GAUGE_CONSUMERS,
    MCP_GAUGE_MAX
};


typedef struct {
    _Atomic uint64_t   pid;            /* pid of the slot's process; 0: the
                                          slot is free */
    _Atomic uint32_t   pending;        /* 1: the process was woken, and has not
                                          emptied its dirty list yet */
    uint32_t           reserved;       /* index of the first chunk of the
                                          slot's first private chain; 0:
                                          none */
    mcp_store_list_t   dirty;
    _Atomic int64_t    gauge[MCP_GAUGE_MAX];
    _Atomic uint32_t   link;           /* state and round trip of the
                                          process's link to Redis, see
                                          mcp_store_own_node.c */
    _Atomic uint32_t   lag_events;     /* number of events that Redis has not
                                          acknowledged yet */
    _Atomic uint64_t   lag_bytes;
    _Atomic uint64_t   lag_since;
} mcp_store_slot_t;


/* The zone as a node of a cluster. All members but the atomic ones are accessed
 * under the lock. For the members without a comment see mcp_node_info_t. */
typedef struct {
    _Atomic uint64_t     id;
    _Atomic uint64_t     leader_pid;
    _Atomic uint64_t     leader_at;    /* when Redis last answered the leader,
                                          or the leader began to lead, ms */
    _Atomic uint32_t     leader;       /* slot + 1 of the leader; 0: none */
    _Atomic uint32_t     skewed;       /* 1 if the node's clock differs too much
                                          from that of Redis */
    uint32_t             failing;      /* 1 after an error of the cluster,
                                          until mcp_store_node_well() */
    uint64_t             error_at;
    uint64_t             logged_at;    /* when an error of the cluster was last
                                          logged, ms; 0: never, or the next one
                                          has to be logged */
    uint64_t             suppressed;   /* number of errors since the one that
                                          was last logged */
    char                 error[MCP_NODE_REASON_MAX + 1];
    char                 standalone[MCP_NODE_REASON_MAX + 1];
    char                 run[MCP_NODE_RUN_MAX + 1]; /* run id of
                                                Redis, see
                                                mcp_store_node_set_run() */
    mcp_node_position_t  positions[MCP_NODE_POSITIONS];
    _Atomic uint64_t     counts[MCP_NODE_COUNTS];
    mcp_node_view_t      view;
} mcp_store_node_t;


typedef struct mcp_store_head_s {
    uint64_t           magic;
    uint32_t           version;
    uint32_t           layout;         /* a number that depends on the sizes of
                                          the structures, so that
                                          mcp_store_check() rejects a region of
                                          another version */
    uint64_t           size;
    uint64_t           seed[2];        /* seed of the hash functions */

    uint64_t           call_stats;        /* the members from call_stats to
                                             entry_hash are the offsets of
                                             tables from the region's start */
    uint64_t           active;
    uint64_t           failures;
    uint64_t           upstreams;
    uint64_t           durations;
    uint64_t           types;
    uint64_t           stream_hash;
    uint64_t           entry_hash;
    uint64_t           base;           /* offset of chunk 0, which does not
                                          exist: chunk 1 is the first */
    uint32_t           stream_mask;
    uint32_t           entry_mask;
    uint32_t           chunks;         /* number of chunks, which is also the
                                          highest index */
    uint32_t           reserve;
    uint32_t           max_call_stats;
    uint32_t           max_active;
    uint32_t           max_upstreams;
    uint32_t           max_durations;

    _Atomic uint32_t   n_call_stats;
    _Atomic uint32_t   n_failures;     /* number of failures noted since the
                                          region was formatted; may wrap */
    _Atomic uint64_t   seen;           /* time of the last call of
                                          mcp_store_sweep(), ms */
    _Atomic uint32_t   cancels;        /* number of the latest cancellation,
                                          see mcp_store_cancels(); may wrap */

    uint32_t           holder;         /* slot + 1 of the process that holds
                                          the lock; 0: none */
    uint32_t           fresh;          /* index of the first chunk that was
                                          never used */
    uint32_t           free;           /* index of the first chunk in the chain
                                          of freed chunks */
    uint32_t           n_free;
    uint32_t           ordinal;
    uint32_t           hand;           /* index of the chunk that the sweep
                                          visited last */
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
    _Atomic uint32_t   hint_room;      /* number of free chunks without the
                                          reserve, and n_calls, when the lock
                                          was last released */
    _Atomic uint32_t   hint_calls;

    mcp_store_list_t   ownerless;      /* the list of ownerless streams: streams
                                          whose owner or replicator died, until
                                          a process adopts them */
    mcp_store_list_t   rank[MCP_EVICT_MAX][MCP_STORE_RANKS]; /* the lists for
                                                                MCP_LINK_RANK,
                                                                by ring and by
                                                                rank */
    mcp_store_list_t   blocked[2];     /* streams whose owners are blocked on
                                          space, by need_all: 0 with another
                                          message, 1 with a response */
    mcp_store_list_t   partial;        /* entry chunks that have a free
                                          entry */

    _Atomic int64_t    counter[MCP_COUNT_MAX];
    _Atomic int64_t    refused;        /* value of the counter
                                          MCP_COUNT_REFUSED_FULL when
                                          mcp_store_refused() last returned a
                                          number other than 0 */
    _Atomic uint64_t   refused_at;     /* when mcp_store_refused() last
                                          returned a number other than 0, ms;
                                          0: never */
    _Atomic uint32_t   purpose[256];   /* number of values by purpose */
    _Atomic uint32_t   configuration;  /* number of the configuration in use,
                                          see mcp_store_upstream_begin() */
    uint32_t           n_upstreams;    /* number of rows of MCP servers that
                                          were taken */
    mcp_store_node_t   node;
    mcp_store_slot_t   slots[MCP_STORE_SLOTS];
} mcp_store_head_t;


/* Adds n to a counter of the cluster's status. */
static inline void
mcp_store_node_add(mcp_store_head_t *head, mcp_node_count_e which, uint64_t n)
{
    atomic_fetch_add(&head->node.counts[which], n);
}


/* Describes sessions at MCP servers: those that may be removed. */
typedef struct {
    const mcp_store_upstream_row_t  *row;      /* the server; NULL: all
                                                  servers */
    uint64_t                         idle_at;  /* time, ms, at which no process
                                                  uses the session; UINT64_MAX:
                                                  processes may use it */
} mcp_store_session_filter_t;


/* An operation on the store while the lock is held, and the processes to wake
 * after the lock is released. */
typedef struct {
    mcp_store_t       *store;
    mcp_store_head_t  *head;
    const unsigned char  *tenant;      /* tenant for which room is made; NULL:
                                          room for the store itself or for a new
                                          mirror */
    mcp_store_stream_t   *keep;        /* the stream that must not be evicted
                                          in this operation; NULL: none */
    mcp_store_dropped_t  *dropped;     /* if not NULL: receives the first
                                          session that the operation removes at
                                          the MCP server with the row
                                          dropped->row */
    uint64_t           now;            /* time of the operation, ms; 0: unknown.
                                          It determines which sessions at MCP
                                          servers are in use */
    unsigned           creates;        /* 1: room is made for a new stream */
    unsigned           wakes;          /* number of scheduled wake-ups; 0:
                                          "wake" is not set */
    uint64_t           wake[MCP_STORE_SLOTS / 64]; /* a bit for each slot whose
                                          process is to be woken */
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


static inline mcp_store_entries_t *
mcp_store_entries(mcp_store_head_t *head, uint32_t index)
{
    return (mcp_store_entries_t *) mcp_store_chunk(head, index);
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
    return (mcp_store_active_t *) ((char *) head + head->active);
}


static inline mcp_call_stats_failure_t *
mcp_store_failures(mcp_store_head_t *head)
{
    return (mcp_call_stats_failure_t *) ((char *) head + head->failures);
}


static inline mcp_store_upstream_data_t *
mcp_store_upstreams(mcp_store_head_t *head)
{
    return (mcp_store_upstream_data_t *) ((char *) head + head->upstreams);
}


static inline mcp_store_duration_t *
mcp_store_durations_all(mcp_store_head_t *head)
{
    return (mcp_store_duration_t *) ((char *) head + head->durations);
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


static inline mcp_store_link_t *
mcp_store_link(mcp_store_head_t *head, uint32_t ref)
{
    return mcp_store_at(head, ref);
}


#define mcp_store_container(head, ref, type, member)                          \
    ((type *) ((char *) mcp_store_at(head, ref) - offsetof(type, member)))


/* Returns 1 if ordinal a is older than b. Ordinals may wrap, so their distances
 * from the next ordinal, which is the newest one, are compared. */
static inline int
mcp_store_older(const mcp_store_head_t *head, uint32_t a, uint32_t b)
{
    return head->ordinal + 1 - a > head->ordinal + 1 - b;
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


/* Returns the number of the last event that readers of a replicated stream or
 * a mirror may see. */
uint64_t mcp_store_replication_visible(mcp_store_head_t *head,
    const mcp_store_stream_t *st);


/* Returns the number of the last event that readers of a stream may see: the
 * last one, or with "sync" the last one that Redis has acknowledged. */
static inline uint64_t
mcp_store_visible(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return st->repl == 0 ? st->events.last
                          : mcp_store_replication_visible(head, st);
}


/* Returns the number of chunks that len bytes need. */
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
 * Takes the lock, initializes op, and repairs the store if a process died
 * while it held the lock.
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
    atomic_fetch_add_explicit(&head->counter[counter], n, memory_order_relaxed);
}


/* --- mcp_store_process.c --- */

/* Adds a link to the dirty list of a slot, and wakes the slot's process when
 * the lock is released. Does nothing if the link is in a list, or the slot has
 * no process. */
void mcp_store_mark(mcp_store_op_t *op, mcp_store_link_t *link, uint32_t slot);

/* mcp_store_mark_owner() adds a stream to the dirty list of its owner's slot.
 * mcp_store_mark_consumer() adds it to the dirty lists of its consumer and of
 * its joined readers. Both wake the processes concerned. */
void mcp_store_mark_owner(mcp_store_op_t *op, mcp_store_stream_t *st);
void mcp_store_mark_consumer(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Wakes the consumer and the joined readers of a stream like
 * mcp_store_mark_consumer(). There is one exception: if the stream cannot be
 * joined and its consumer is in this process, calls note() of mcp_store_t, and
 * adds the consumer to the dirty list only if note() returns 0 or is NULL. */
void mcp_store_notify_consumer(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Removes the owner of a stream, and adds the stream to the list of
 * ownerless streams. */
void mcp_store_disown(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Removes a link from the dirty list of a slot, or, with MCP_STORE_OWNERLESS,
 * from the list of ownerless streams. Does nothing if the link is in no
 * list. */
void mcp_store_unmark(mcp_store_op_t *op, mcp_store_link_t *link,
    uint32_t slot);

/* mcp_store_unmark_owner() removes the owner of a stream, and
 * mcp_store_unmark_consumer() the consumer. Both also remove the stream from
 * the dirty list of the slot concerned, because its process need not be woken
 * any more. */
void mcp_store_unmark_owner(mcp_store_op_t *op, mcp_store_stream_t *st);
void mcp_store_unmark_consumer(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Adds the owner's link of a stream, or the link of replication data, to the
 * list of ownerless streams. */
void mcp_store_mark_ownerless(mcp_store_head_t *head, mcp_store_link_t *link);

/* Schedules the wake-up of a slot's process for when the lock is released. */
void mcp_store_wake_slot(mcp_store_op_t *op, unsigned slot);

/* Frees a tombstone if all processes concerned have been notified. */
void mcp_store_tombstone_settle(mcp_store_op_t *op,
    mcp_store_stream_t *tombstone);


/* --- mcp_store_chunk.c --- */

/* Returns the number of free chunks: with "all" including the reserve,
 * otherwise without it. */
uint32_t mcp_store_room(const mcp_store_head_t *head, int all);

/* Returns the number of chunks that the logs of a stream could take if the
 * region had no other stream: with "all" including the reserve, otherwise
 * without it. */
uint32_t mcp_store_room_alone(const mcp_store_head_t *head,
    const mcp_store_stream_t *st, int all);

/* Removes a stream from the list of streams blocked on space, if it is in
 * one. */
void mcp_store_unblock(mcp_store_head_t *head, mcp_store_stream_t *st);

/*
 * Evicts streams until n chunks are free; with "all" the reserve counts as
 * free.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL  fewer than n chunks are free, and no stream is left to evict
 */
int mcp_store_ensure(mcp_store_op_t *op, uint32_t n, int all);

/* Takes n chunks, for which mcp_store_ensure() has made room, as a chain of
 * empty data chunks. */
void mcp_store_chain_take(mcp_store_op_t *op, uint32_t n,
    mcp_store_chain_t *chain);

/* Frees the chain from the chunk "first" to the chunk "last", which has
 * "count" chunks, in constant time. Does nothing if "first" is 0. */
void mcp_store_chain_free(mcp_store_op_t *op, uint32_t first, uint32_t last,
    uint32_t count);

/* Frees the chain that begins with the chunk "first", after a search for its
 * last chunk. Does nothing if "first" is 0. */
void mcp_store_chain_drop(mcp_store_op_t *op, uint32_t first);

/* mcp_store_root_take() takes a chunk, sets its bytes to 0, and gives it the
 * type "type". mcp_store_root_free() frees such a chunk. mcp_store_next_chunk()
 * returns the index of the first chunk of this type after "index", or 0. */
uint32_t mcp_store_root_take(mcp_store_op_t *op, unsigned char type);
void mcp_store_root_free(mcp_store_op_t *op, uint32_t index);
uint32_t mcp_store_next_chunk(mcp_store_head_t *head, uint32_t index,
    unsigned char type);

/* mcp_store_copy_in() copies len bytes from "data" to the chunks of a chain,
 * beginning at pos, and mcp_store_copy_out() copies them in the other
 * direction. Both advance pos. mcp_store_copy_out() returns the number of bytes
 * that it has copied. */
void mcp_store_copy_in(mcp_store_head_t *head, mcp_store_pos_t *pos,
    const void *data, size_t len);
size_t mcp_store_copy_out(mcp_store_head_t *head, mcp_store_pos_t *pos,
    void *data, size_t len);

/* Copies at most MCP_STORE_BIG bytes from pos to *data, so that the lock is
 * held only briefly. *left is the number of remaining bytes. Advances pos
 * and *data, and reduces *left. Returns MCP_OK, MCP_DONE if all bytes were
 * copied, or MCP_ERR_INTERNAL if the chain is too short. */
int mcp_store_copy_piece(mcp_store_head_t *head, mcp_store_pos_t *pos,
    char **data, size_t *left);

/*
 * Creates a private chain, and copies the n parts to it without the lock. The
 * first "skip" bytes of the chain remain unset. The chain belongs to the slot
 * of this process until mcp_store_private_claim(). "tenant" is the tenant for
 * which room is made. If "all" is 1, the reserve of free chunks may be used.
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
 * Removes a private chain from the list of its slot: the caller has to use or
 * free it.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  this process was declared dead, and the chain was freed
 */
int mcp_store_private_claim(mcp_store_op_t *op, mcp_store_chain_t *chain);

/* Frees a private chain that was not claimed; called without the lock. Does
 * nothing if chain is empty. */
void mcp_store_private_drop(mcp_store_t *store, mcp_store_chain_t *chain);

/* Frees the private chains of a slot whose process has ended. */
void mcp_store_private_reclaim(mcp_store_op_t *op, unsigned slot);

void mcp_store_list_append(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link);
void mcp_store_list_prepend(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link);

/* Removes a link from a list. Does nothing for a link that is in no list. */
void mcp_store_list_remove(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link);

static inline int
mcp_store_linked(const mcp_store_link_t *link)
{
    return link->next != 0;
}

/* mcp_store_ring_append() adds a link to a ring as its newest one.
 * mcp_store_ring_remove() removes a link from its ring. */
void mcp_store_ring_append(mcp_store_head_t *head, uint32_t *ring,
    mcp_store_link_t *link);
void mcp_store_ring_remove(mcp_store_head_t *head, uint32_t *ring,
    mcp_store_link_t *link);


/* --- mcp_store_record_queue.c --- */

/* Returns the number of chunks that mcp_store_log_append() would take for a
 * record with len bytes of payload. */
uint32_t mcp_store_log_need(mcp_store_head_t *head, const mcp_store_log_t *log,
    size_t len);

/*
 * Appends a record, whose payload is the n parts. rec contains len, answers and
 * type; rec->seq is set. If "all" is 1, the reserve of free chunks may be used.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL  the region has no room, even after eviction
 */
int mcp_store_log_append(mcp_store_op_t *op, mcp_store_log_t *log,
    mcp_store_record_t *rec, const mcp_str_t *parts, size_t n, int all);

/* Appends a record whose payload is already in a chain. The first bytes of the
 * chain are free for the record's head. */
void mcp_store_log_attach(mcp_store_op_t *op, mcp_store_log_t *log,
    mcp_store_record_t *rec, const mcp_store_chain_t *chain);

/* Advances pos from a record's head to the end of its payload, which has len
 * bytes. */
void mcp_store_log_pass(mcp_store_head_t *head, mcp_store_pos_t *pos,
    uint32_t len);

/* Returns the record that begins at pos, or at the start of the next chunk,
 * and sets pos to its beginning. Returns NULL at the end of the log. */
mcp_store_record_t *mcp_store_log_record(mcp_store_head_t *head,
    mcp_store_pos_t *pos);

/* Returns the sum of the bytes of payload of the records "from" to "to", which
 * must exist. Takes as long as two seeks, for any number of records. */
uint64_t mcp_store_log_bytes(mcp_store_head_t *head,
    const mcp_store_log_t *log, uint64_t from, uint64_t to);

/* Sets pos to the record with the number seq and returns 1; returns 0 if there
 * is none. */
int mcp_store_log_seek(mcp_store_head_t *head, const mcp_store_log_t *log,
    uint64_t seq, mcp_store_pos_t *pos);

/* mcp_store_log_drop() removes the oldest record, and mcp_store_log_clear()
 * removes all records. */
void mcp_store_log_drop(mcp_store_op_t *op, mcp_store_log_t *log);
void mcp_store_log_clear(mcp_store_op_t *op, mcp_store_log_t *log);

/*
 * Counts "chunks" chunks that were linked to a log. "index" is the first chunk,
 * and a record begins in it. The chunk "index" becomes a mark if the log has no
 * mark, or if MCP_STORE_MARK chunks have been linked since the last mark. In
 * the second case, the last mark then refers to the new one.
 */
void mcp_store_log_mark(mcp_store_head_t *head, mcp_store_log_t *log,
    uint32_t index, uint32_t chunks);


/* --- mcp_store_stream_create.c --- */

/* The values with which a mirror begins: its first event is after + 1. */
typedef struct {
    uint64_t  after;
    uint64_t  number;                  /* number of the mirror's reader; 0: the
                                          mirror is for joined readers */
} mcp_store_begin_t;

typedef struct {
    const mcp_stream_spec_t  *spec;
    const mcp_store_begin_t  *begin;   /* NULL: the stream is not a mirror */
    uint64_t                  now;
    mcp_str_t                 text[3]; /* method, name and request */
    mcp_store_chain_t         chain;   /* contains the text if it was copied
                                          before the lock was taken; otherwise
                                          empty */
} mcp_store_making_t;

/* Copies a long text of a new stream to a private chain, without the lock.
 * Returns MCP_OK or the values of mcp_store_private_make(). */
int mcp_store_create_begin(mcp_store_t *store, mcp_store_making_t *making);

/* Creates the stream that mcp_store_create_begin() has prepared; called with
 * the lock. Returns the values of mcp_store_create(). */
int mcp_store_create_end(mcp_store_op_t *op, mcp_store_making_t *making,
    mcp_stream_ref_t *ref);


/* --- mcp_store_stream.c --- */

/* Adds a stream to the group of its session, as the latest stream in one of two
 * lists: streams that linger, or all others. */
void mcp_store_session_enter(mcp_store_head_t *head,
    mcp_store_entry_t *session, mcp_store_stream_t *st);

/* Returns 1 if a session has at least "limit" streams that do not linger.
 * Returns 0 if "limit" is 0, or if "session" is all zeros. */
int mcp_store_session_crowded(mcp_store_head_t *head,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t limit);

/* Frees a stream. Its chunk remains as a tombstone until its owner and its
 * consumer have been notified. The owner is not notified if it is this
 * process, unless "revoked" is 1. */
void mcp_store_stream_free(mcp_store_op_t *op, mcp_store_stream_t *st,
    int revoked);

/* Ends a stream that has reached a final state at the time "now": removes its
 * owner, its inbox and its cancellations. */
void mcp_store_stream_finish(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);

/* Returns the bit of the request that an event answers, 0 if there is none. */
uint64_t mcp_store_response_bit(const mcp_store_record_t *rec);

/* Records in "answered", "failed" and "result" which request a committed event
 * answers, and how. */
void mcp_store_stream_response(mcp_store_stream_t *st,
    const mcp_store_record_t *rec);

/* Updates a stream after the commit of an event: its state, its time of change,
 * and the requests that are answered. If the state is final, ends the stream
 * like mcp_store_stream_finish(). */
void mcp_store_stream_apply(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_record_t *rec, uint64_t now);

/* Moves a stream to the ring of its tenant and the list of its session that
 * match its state. To be called after each change of state, readers or
 * sent_seq. */
void mcp_store_stream_settle(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Returns 1 if a stream lingers: it is over, sent, without a reader and not a
 * task; or it is a mirror without a reader. */
int mcp_store_stream_settled(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Returns the time when a stream that is over expires if it has no reader
 * until then. */
uint64_t mcp_store_stream_end(const mcp_store_stream_t *st);

/* Returns 1 if a sweep at the time "now" has to free a stream. */
int mcp_store_stream_due(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);

/* Return a live stream, or NULL if there is none: mcp_store_stream_at() the one
 * at an index, mcp_store_stream_get() the one of a ref, and
 * mcp_store_stream_find() the one with an id. */
mcp_store_stream_t *mcp_store_stream_at(mcp_store_head_t *head, uint32_t index);
mcp_store_stream_t *mcp_store_stream_get(mcp_store_op_t *op,
    const mcp_stream_ref_t *ref);
mcp_store_stream_t *mcp_store_stream_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/*
 * Takes the lock and finds a stream. Sets op->tenant to the stream's tenant, so
 * that the operation makes room for this tenant.
 *
 * Returns MCP_OK, or, without the lock,
 *   MCP_ERR_NOT_FOUND  the stream does not exist
 *   MCP_ERR_INTERNAL   the lock cannot be taken
 */
int mcp_store_stream_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st);

/* Adds a stream to the hash table of streams. */
void mcp_store_stream_link(mcp_store_head_t *head, uint32_t index);

void mcp_store_stream_info(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_stream_info_t *info);

/* Appends the stored request id or ids of a stream to buf, unless buf is NULL.
 * An error is recorded in buf->failed. */
void mcp_store_stream_request(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_buf_t *buf);


/* --- mcp_store_append.c --- */

/* Removes the oldest event of a stream to make room, if that is allowed: a
 * sent event always, an unsent one only from a listener that is not a mirror.
 * Returns 1 if it was removed, otherwise 0. */
int mcp_store_stream_drop_event(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Raises sent_seq to "sent", and wakes the owner if there is now room for
 * which it waits. */
void mcp_store_stream_sent(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent);

/* Raises sent_seq like mcp_store_stream_sent(), without searching the log:
 * "bytes" is the number of bytes of the kept events up to "sent". */
void mcp_store_stream_sent_bytes(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent, uint64_t bytes);

/* Returns 1 if an owner that got MCP_ERR_LIMIT can continue: a quarter of each
 * limit is free, or all events were sent. */
int mcp_store_may_continue(const mcp_store_stream_t *st);

/* mcp_store_append_copy() copies a long message to a private chain without the
 * lock. mcp_store_append_next() appends this chain, or a short message, with
 * the lock. Both return the values of mcp_store_append(). */
int mcp_store_append_copy(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_store_chain_t *chain);
int mcp_store_append_next(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    mcp_str_t message, mcp_store_record_t *rec, uint64_t now,
    mcp_store_chain_t *chain);

/* Returns the number of the request that a record answers, with MCP_STORE_ERROR
 * and MCP_STORE_RESULT() added. Returns -1 if the record answers no request. */
int mcp_store_record_request(const mcp_store_record_t *rec);

/* Appends a message to a listener. If there is no room, the listener loses
 * events. A long message is in the private chain "chain"; for a short message,
 * chain is NULL. */
void mcp_store_stream_publish(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_str_t message, const mcp_store_chain_t *chain);

/* Appends a long message to a listener; called without the lock. */
void mcp_store_stream_publish_big(mcp_store_t *store,
    const mcp_stream_ref_t *ref, mcp_str_t message);


/* --- mcp_store_task.c --- */

/*
 * mcp_store_task_release() is called before an event is appended to a task: all
 * earlier events that readers may see count as sent, so that they can be
 * removed. mcp_store_task_replace() is called after the event was appended, and
 * removes the earlier events. Both do nothing for a stream that is not a task.
 */
void mcp_store_task_release(mcp_store_op_t *op, mcp_store_stream_t *st);
void mcp_store_task_replace(mcp_store_op_t *op, mcp_store_stream_t *st);


/* --- mcp_store_tenant.c --- */

static inline mcp_store_entry_t *
mcp_store_tenant_of(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return mcp_store_at(head, st->tenant_entry);
}

/* Returns the oldest stream of a tenant's ring k, or NULL. */
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

/* Returns 1 if a stream is in its tenant's ring k, one of MCP_EVICT_.... */
static inline int
mcp_store_in_ring(const mcp_store_stream_t *st, unsigned k)
{
    return st->evict == k + 1;
}

/* Returns the group of the network that contains a tenant's address (see
 * mcp_tenant_parent()), or NULL. */
mcp_store_entry_t *mcp_store_tenant_up(mcp_store_head_t *head,
    const mcp_store_entry_t *tenant);

/*
 * Finds or creates a tenant's group and the groups of the networks that
 * contain its address. The caller makes room for MCP_TENANT_LEVELS entries
 * before it calls this function, and then counts a stream or a value in the
 * groups. Returns NULL if there is no room.
 */
mcp_store_entry_t *mcp_store_tenant_group(mcp_store_op_t *op,
    const unsigned char id[MCP_DIGEST_LEN]);

/* mcp_store_tenant_size() returns the number of chunks of a stream, with its
 * text, its logs and its subscriptions. mcp_store_tenant_base() returns the
 * same number without the logs. */
uint32_t mcp_store_tenant_size(const mcp_store_stream_t *st);
uint32_t mcp_store_tenant_base(const mcp_store_stream_t *st);

/* mcp_store_tenant_enter() adds a stream to its tenant's group, and
 * mcp_store_tenant_leave() removes it. The group is freed with its last stream
 * or value. */
void mcp_store_tenant_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *tenant);
void mcp_store_tenant_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Moves a stream to the ring of its tenant that matches the stream's state. */
void mcp_store_tenant_settle(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Returns the ring that matches a stream's state, or MCP_EVICT_MAX if it may
 * not be evicted. */
unsigned mcp_store_stream_ring(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Adds n to the number of chunks that a tenant uses, because the number of
 * chunks of a stream's log has changed. n is modulo 2^32, so it may be
 * negative. */
void mcp_store_tenant_resize(mcp_store_op_t *op, const mcp_store_log_t *log,
    uint32_t n);

/* Returns the number of chunks that n subscriptions take from a tenant's quota.
 * Each subscription counts as two entries, because its topic may need one as
 * well. */
uint32_t mcp_store_subs_chunks(uint32_t n);

/* Sets the number of a stream's subscriptions to n, and counts their chunks
 * for the tenant. */
void mcp_store_tenant_subs(mcp_store_head_t *head, mcp_store_stream_t *st,
    uint32_t n);

/* mcp_store_tenant_value_enter() counts a value in its tenant's group, and
 * returns the group, or NULL if there is no room for it. With "text", this is
 * the group for values with text. mcp_store_tenant_value_leave() subtracts the
 * value again. */
mcp_store_entry_t *mcp_store_tenant_value_enter(mcp_store_op_t *op,
    const unsigned char id[MCP_DIGEST_LEN], unsigned text);
void mcp_store_tenant_value_leave(mcp_store_op_t *op, uint32_t group);

/* mcp_store_tenant_push() adds a value to its tenant's ring of pushed values as
 * the newest one. mcp_store_tenant_pull() removes a value from its ring, and
 * does nothing for a value that is in no ring. */
void mcp_store_tenant_push(mcp_store_op_t *op, mcp_store_entry_t *e);
void mcp_store_tenant_pull(mcp_store_op_t *op, mcp_store_entry_t *e);

/* Returns the oldest pushed value of a tenant's group, or NULL. */
mcp_store_entry_t *mcp_store_tenant_oldest(mcp_store_head_t *head,
    const mcp_store_entry_t *group);


/* --- mcp_store_quota.c --- */

/* Returns mcp_store_stream_t.quota for a tenant: its quota of bytes, in
 * chunks. */
uint32_t mcp_store_tenant_quota(const mcp_tenant_t *tenant);

/* Returns 1 if the quotas of a stream's tenant let the stream take n more
 * chunks. If the tenant uses little, streams of larger tenants in the rings
 * OVER and LEFT are evicted for it. If "response" is 1, a response of a few
 * chunks is always allowed. */
int mcp_store_tenant_allows(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, int response);

/* Returns 1 if mcp_store_tenant_allows() could succeed with the same
 * arguments. Evicts nothing. */
int mcp_store_tenant_would_allow(mcp_store_op_t *op,
    const mcp_store_stream_t *st, uint32_t n, int response);

/* Returns 1 if the quota of a stream's tenant would not let the stream take n
 * more chunks even if the tenant and the region had no other stream, and the
 * stream's log then took "total" chunks. "response" is as in
 * mcp_store_tenant_allows(). */
int mcp_store_tenant_large(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, uint32_t total, int response);

/* mcp_store_tenant_may_create() returns 1 if a tenant's quotas let it create a
 * stream, and may evict streams of larger tenants in the rings OVER and LEFT.
 * mcp_store_tenant_may_value() returns 1 if the quotas let the tenant create a
 * value, with text if "text" is 1, without text if it is 0. */
int mcp_store_tenant_may_create(mcp_store_op_t *op, const mcp_tenant_t *tenant,
    mcp_stream_kind_e kind, uint32_t chunks);
int mcp_store_tenant_may_value(mcp_store_op_t *op, const mcp_tenant_t *tenant,
    unsigned text);

/*
 * Returns the stream to evict next, or NULL. In this order:
 *
 *   1.  an idle listener of op's tenant
 *   2.  an idle listener of the largest tenant
 *   3.  a stream of op's tenant that lingers
 *   4.  a stream of the largest tenant that lingers, if that tenant is larger
 *       than op's
 *   5.  the stream that mcp_store_victim_unread() returns
 */
mcp_store_stream_t *mcp_store_victim(mcp_store_op_t *op);

/* Evicts a stream and notifies its owner. */
void mcp_store_evict(mcp_store_op_t *op, mcp_store_stream_t *st);


/* --- mcp_store_consumer.c --- */

/* Detaches a stream's consumer, because another one displaces it. If the
 * detached consumer is at this node, creates a tombstone by which its process
 * is notified. */
void mcp_store_consumer_displace(mcp_store_op_t *op, mcp_store_stream_t *st);

/* Makes (slot, handle) the consumer, which reads the events after "after".
 * Sets *taken to 1 if it has displaced another consumer. */
void mcp_store_consumer_take(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint32_t slot, uint64_t handle, uint64_t after, int *taken);

/* Detaches the consumer, because it left at the time "now"; 0: the time is
 * unknown. */
void mcp_store_consumer_gone(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now);


/* --- mcp_store_join_calls.c --- */

/* Sets *out to the stream that a request with this spec can join, or to NULL
 * if there is none. Returns MCP_OK, or MCP_ERR_DENIED if the stream has other
 * params. */
int mcp_store_join_lookup(mcp_store_op_t *op, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_store_stream_t **out);

/* Makes e, which is from mcp_store_entry_take(), the JOIN entry of a new
 * stream: requests that join by "key" find this stream from now on. If they
 * found another stream before, they no longer find it. */
void mcp_store_join_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *e, const unsigned char key[MCP_DIGEST_LEN]);

/* Sets the key of a mirror's JOIN entry: requests that join by "key" find this
 * mirror from now on. If they found another stream before, they no longer find
 * it. Does nothing if the mirror has no JOIN entry. */
void mcp_store_join_name(mcp_store_op_t *op, mcp_store_stream_t *st,
    const unsigned char key[MCP_DIGEST_LEN]);

/* Removes the JOIN entry of a stream that is freed, and notifies the joined
 * readers. */
void mcp_store_join_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/* During a repair: links a JOIN entry with its stream again, or frees the entry
 * if its stream does not exist or has another JOIN entry, or if another JOIN
 * entry has the same key. */
void mcp_store_repair_join(mcp_store_op_t *op, mcp_store_entry_t *e);

/* Returns the READER entry of this process's joined reader "handle" of the
 * stream with this id, or NULL. */
mcp_store_entry_t *mcp_store_reader_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t handle);

/* Frees the entry of a joined reader, because it left at the time "now"; 0:
 * the time is unknown. */
void mcp_store_reader_gone(mcp_store_op_t *op, mcp_store_entry_t *e,
    uint64_t now);

/* Adds all joined readers of a stream to the dirty lists of their slots, and
 * wakes these processes. join is the stream's JOIN entry. */
void mcp_store_readers_mark(mcp_store_op_t *op, mcp_store_entry_t *join);

/* Returns a slot, other than the slot "but", whose process has a joined reader
 * of the stream. Returns MCP_STORE_NO_SLOT if there is none. */
uint32_t mcp_store_readers_slot(mcp_store_op_t *op,
    const mcp_store_stream_t *st, uint32_t but);

/* Frees the joined readers in the entry chunk "index" that belong to "slot",
 * whose process has ended. */
void mcp_store_readers_retire(mcp_store_op_t *op, uint32_t index,
    uint32_t slot);

/* During a repair: adds all joined readers to their lists again. To be called
 * after all streams were added to their lists. */
void mcp_store_repair_readers(mcp_store_op_t *op);


/* --- mcp_store_replication.c --- */

/* mcp_store_replication_checkpoint() sets *checkpoint to the state of a stream
 * as readers may see it. mcp_store_replication_claim() sets it to the state
 * that the owner has reached. */
void mcp_store_replication_checkpoint(mcp_store_head_t *head,
    const mcp_store_stream_t *st, mcp_store_checkpoint_t *checkpoint);
void mcp_store_replication_claim(const mcp_store_stream_t *st,
    mcp_store_checkpoint_t *checkpoint);

/*
 * Takes the lock, finds a replicated stream or a mirror, and sets *repl to its
 * replication data.
 *
 * Returns MCP_OK, or, without the lock,
 *   MCP_ERR_NOT_FOUND  there is no stream with this id that is replicated or a
 *                      mirror
 *   MCP_ERR_INTERNAL   the lock cannot be taken
 */
int mcp_store_replication_enter(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_store_op_t *op,
    mcp_store_stream_t **st, mcp_store_replication_t **repl);

/* Makes the replication data of a stream valid, with this process as the
 * replicator. */
void mcp_store_replication_fill(mcp_store_op_t *op,
    mcp_store_replication_t *repl, const mcp_store_stream_t *st);

/* Sets the fields of info that concern a replicated stream or a mirror. */
void mcp_store_replication_info(mcp_store_head_t *head,
    const mcp_store_stream_t *st, mcp_stream_info_t *info);

/* Wakes the replicator of a replicated stream, or the process that feeds a
 * mirror. */
void mcp_store_replication_mark(mcp_store_op_t *op, mcp_store_stream_t *st);

static inline void
mcp_store_mark_replication(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (st->repl) {
        mcp_store_replication_mark(op, st);
    }
}

/* Separates the replication data from a stream that is freed, and notifies the
 * replicator. */
void mcp_store_replication_leave(mcp_store_op_t *op, mcp_store_stream_t *st);

/*
 * mcp_store_replication_drain() removes a chunk with replication data from the
 * dirty list of this process's slot, and sets *out to the wake-up for it.
 * mcp_store_replication_adopt() makes this process the replicator of a stream
 * whose replicator has died, and returns the stream.
 */
void mcp_store_replication_drain(mcp_store_op_t *op, uint32_t index,
    mcp_store_wake_t *out);
mcp_store_stream_t *mcp_store_replication_adopt(mcp_store_op_t *op,
    uint32_t index);

/* Makes the process of a slot the replicator and wakes it. With
 * MCP_STORE_NO_SLOT, the stream has no replicator from then on. */
void mcp_store_replication_pass(mcp_store_op_t *op,
    mcp_store_replication_t *repl, uint32_t slot);

/* The process of "slot" has ended. If it was the replicator of the replication
 * data in the chunk "index", replaces it by another process or by none, or
 * frees the data if the stream was freed. */
void mcp_store_replication_retire(mcp_store_op_t *op, uint32_t index,
    uint32_t slot);

/* During a repair, mcp_store_repair_replications() finds the streams of all
 * replication data again, before the streams are added to their lists. After
 * that, mcp_store_repair_replicators() wakes the replicators. */
void mcp_store_repair_replications(mcp_store_op_t *op);
void mcp_store_repair_replicators(mcp_store_op_t *op);


/* --- mcp_store_mirror.c --- */

/* Makes a stream that is being created a mirror. */
void mcp_store_mirror_begin(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_begin_t *begin);

/* Applies to a mirror the latest state of the owner's stream that this node has
 * received, and the number of the last confirmed event. The state has no effect
 * while the mirror lacks events before it. */
void mcp_store_mirror_count(mcp_store_stream_t *st,
    const mcp_store_replication_t *repl);

/* Called when a local reader is about to become the consumer of a stream.
 * Returns 1 if a later reader at another node has already displaced this local
 * reader. If the stream is not a mirror, also clears the number of the local
 * reader. */
int mcp_store_replication_taken(mcp_store_head_t *head,
    const mcp_store_stream_t *st);

/* Returns 1 if a sweep at the time "now" has to free a mirror without a
 * reader. */
int mcp_store_mirror_due(const mcp_store_stream_t *st, uint64_t now);


/* --- mcp_store_entry.c --- */

/* Returns a hash value of a key and a salt. It also depends on the secret seed
 * of the region. */
uint64_t mcp_store_hash(const mcp_store_head_t *head, uint32_t salt,
    const unsigned char key[16]);

/* Adds an entry to the hash table of entries. */
void mcp_store_entry_insert(mcp_store_head_t *head, mcp_store_entry_t *e);

/* Returns a free entry, which has no kind yet, or NULL if there is no room. If
 * "all" is 1, the reserve of free chunks may be used. */
mcp_store_entry_t *mcp_store_entry_take(mcp_store_op_t *op, int all);

/* Sets the kind of an entry, with which it becomes valid, and adds it to the
 * hash table. */
void mcp_store_entry_publish(mcp_store_head_t *head, mcp_store_entry_t *e,
    unsigned kind);

/* Finds an entry by its kind, its key, and the arguments that its kind needs:
 * "purpose" for a value or a tenant; "stream" for a subscription (the index of
 * its stream) or a joined reader (its tag). An argument that the kind does not
 * need is 0. Returns NULL if there is no such entry. */
mcp_store_entry_t *mcp_store_entry_find(mcp_store_head_t *head, unsigned kind,
    unsigned purpose, const unsigned char key[16], uint32_t stream);

/* Returns a pushed value (see mcp_store.h) of the tenant with the most pushed
 * values in a sample: about 64 pushed values of the hash table, beginning with
 * the bucket of "key". The sample consists of the values without text if
 * sessions is NULL, otherwise of the sessions at MCP servers that *sessions
 * describes. Returns NULL if the sample is empty. */
mcp_store_entry_t *mcp_store_entry_most_values(mcp_store_head_t *head,
    const unsigned char key[16], const mcp_store_session_filter_t *sessions);

/* Returns the next entry of a kind in the entry chunk "index", beginning with
 * the number *k, and sets *k to the number after it. Returns NULL if no such
 * entry is left, or if the chunk was freed with its last entry. */
mcp_store_entry_t *mcp_store_entry_next(mcp_store_head_t *head,
    uint32_t index, unsigned *k, unsigned kind);

/* Changes the key of an entry. */
void mcp_store_entry_rename(mcp_store_head_t *head, mcp_store_entry_t *e,
    const unsigned char key[16]);

/* Frees an entry, and also its chunk if no other entry in it is used. */
void mcp_store_entry_free(mcp_store_op_t *op, mcp_store_entry_t *e);

/* Finds or creates the group of a session, tenant or topic. "purpose" is 1 for
 * the group that counts a tenant's values with text, otherwise 0. Returns NULL
 * if there is no room. */
mcp_store_entry_t *mcp_store_group(mcp_store_op_t *op, unsigned kind,
    unsigned purpose, const unsigned char key[16]);

/* Subtracts a member from a group, and frees the group if that was the last
 * one. */
void mcp_store_group_leave(mcp_store_op_t *op, uint32_t ref);


/* --- mcp_store_topic.c --- */

/* mcp_store_sub_link() adds a subscription to the lists of its topic and its
 * stream; mcp_store_sub_free() removes it from them and frees it. */
void mcp_store_sub_link(mcp_store_head_t *head, mcp_store_entry_t *topic,
    mcp_store_entry_t *e);
void mcp_store_sub_free(mcp_store_op_t *op, mcp_store_entry_t *e);


/* --- mcp_store_call_stats.c --- */

/* Initializes the row MCP_CALL_STATS_OTHER of a new region. */
void mcp_store_call_stats_format(mcp_store_head_t *head);

/* Removes the records of active requests of a process that has ended, and
 * counts the requests as lost. */
void mcp_store_active_retire(mcp_store_head_t *head, unsigned slot);


/* --- mcp_store_upstream.c --- */

/* Returns the row to which a reference refers. Returns NULL if it refers to no
 * row, or if the row was taken for another server since. */
mcp_store_upstream_data_t *mcp_store_upstream_row(mcp_store_head_t *head,
    mcp_store_upstream_row_t row);

/* Subtracts the session in a chunk from the sessions of its server's row. To be
 * called before the chunk is freed. */
void mcp_store_upstream_leave(mcp_store_head_t *head, uint32_t chunk);

/* Copies a session that is being removed to op->dropped. "chunk" contains the
 * session, and "key" is the key of its value. Does nothing if op->dropped is
 * NULL, is for another server, or contains a session already. */
void mcp_store_upstream_drop(mcp_store_op_t *op, uint32_t chunk,
    const unsigned char key[MCP_DIGEST_LEN]);

/* mcp_store_upstream_reset() sets the number of sessions of each row to 0;
 * mcp_store_upstream_enter() adds the session in a chunk. A repair calls them
 * to count the sessions again. */
void mcp_store_upstream_reset(mcp_store_head_t *head);
void mcp_store_upstream_enter(mcp_store_head_t *head, uint32_t chunk);

/* Returns 1 if *filter describes the session in entry e. */
int mcp_store_session_matches(mcp_store_head_t *head,
    const mcp_store_entry_t *e, const mcp_store_session_filter_t *filter);

/*
 * Returns the session to be removed to make room for another one, or NULL if
 * none was found. A session that no process uses comes before one that is in
 * use. Among these, a session of a tenant's group, that was not used for the
 * longest time, comes before one of a tenant that has many.
 *
 * group may be NULL. If key is NULL, the sessions of other tenants are not
 * searched, otherwise their search begins with the bucket of key. row is the
 * server whose session has to be removed, NULL: any server.
 */
mcp_store_entry_t *mcp_store_session_victim(mcp_store_op_t *op,
    const mcp_store_entry_t *group, const unsigned char *key,
    const mcp_store_upstream_row_t *row);


/* --- mcp_store_value.c --- */

/* The data of a new value. */
typedef struct {
    mcp_value_e           purpose;
    const unsigned char  *key;
    uint32_t              value;       /* number; for a purpose without text */
    mcp_str_t             text;        /* only for a purpose with text */
    uint64_t              expires;
    const mcp_tenant_t   *tenant;      /* NULL: the value counts for no
                                          tenant */
    int                   pushed;
} mcp_store_value_t;

/* Returns 1 if the values of a purpose have a text, otherwise 0. */
static inline unsigned
mcp_store_value_has_text(unsigned purpose)
{
    return purpose == MCP_VALUE_UPSTREAM_SESSION;
}

/* Returns the number of values with text if "text" is 1, or of values without
 * text if it is 0. */
static inline uint32_t
mcp_store_values(const mcp_store_head_t *head, unsigned text)
{
    uint32_t  n;

    n = atomic_load(&head->purpose[MCP_VALUE_UPSTREAM_SESSION]);

    return text ? n : head->n_values - n;
}

/* Returns the maximum number of values with text if "text" is 1, or of values
 * without text if it is 0. Each of the two kinds may take an eighth of the
 * chunks, because clients create values, and streams need the other chunks. A
 * value with text takes a chunk and an entry. */
static inline uint32_t
mcp_store_values_max(const mcp_store_head_t *head, unsigned text)
{
    uint32_t  entries;

    entries = head->chunks / MCP_STORE_VALUES * MCP_STORE_ENTRIES;

    return text ? entries / (MCP_STORE_ENTRIES + 1) : entries;
}

/* Frees a value and the chunk with its text. */
void mcp_store_value_free(mcp_store_op_t *op, mcp_store_entry_t *e);

/* Returns the value with a purpose and key, which may have expired, or
 * NULL. */
mcp_store_entry_t *mcp_store_value_find(mcp_store_head_t *head,
    mcp_value_e purpose, const unsigned char key[MCP_DIGEST_LEN]);

/*
 * Finds a value, which may have expired. Takes no lock if there is no value
 * with this purpose.
 *
 * Returns MCP_OK, with the lock, which the caller has to release by
 * mcp_store_leave(), or, without the lock,
 *   MCP_ERR_NOT_FOUND  there is no value with this purpose and key
 *   MCP_ERR_INTERNAL   the lock cannot be taken
 */
int mcp_store_value_enter(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], mcp_store_op_t *op,
    mcp_store_entry_t **e);

/*
 * Adds a text that expires at the time v->expires (ms; 0: never). If there is a
 * text with this purpose and key already, replaces it only if it has expired at
 * the time op->now. This is atomic: if several processes add a text, that of
 * the first one stays.
 *
 * If this is a new value and there is no room, removes a value as
 * mcp_store_value_push() does: the tenant's text that was not used for the
 * longest time, or a text of a tenant that has many. A text that replaces an
 * expired one needs no room, and belongs to the tenant of the expired one. If
 * the process dies while it replaces a text, the value may be removed.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_EXISTS  there is a text that has not expired; it is not changed,
 *                   and does not count as used
 *   MCP_ERR_LIMIT   the text is longer than MCP_STORE_TEXT_MAX; an older text
 *                   is kept
 *   MCP_ERR_FULL    there was no value, and the region has no room
 */
int mcp_store_text_put(mcp_store_op_t *op, const mcp_store_value_t *v);

/*
 * Copies the text of a value to "text", and sets *len to its length. Counts as
 * a use of the text.
 *
 * The text then expires at the time "expires" (ms), so that it is kept while it
 * is used. Its time of expiry does not change if it never expires, or if
 * "expires" is 0 or not later. *extended is set to 1 if this time has changed,
 * otherwise to 0; extended may be NULL.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the value has expired at the time op->now
 */
int mcp_store_text_read(mcp_store_op_t *op, mcp_store_entry_t *e,
    uint64_t expires, char text[MCP_STORE_TEXT_MAX], size_t *len,
    int *extended);

/* Returns the text of a value. */
mcp_str_t mcp_store_text_of(mcp_store_head_t *head, const mcp_store_entry_t *e);

/* Makes a text the newest one of its tenant, so that the texts that were not
 * used for the longest time are replaced first. */
void mcp_store_text_used(mcp_store_op_t *op, mcp_store_entry_t *e);

/* Frees the expired values of an entry chunk and returns their number. */
size_t mcp_store_values_expire(mcp_store_op_t *op, uint32_t index,
    uint64_t now);


/* --- mcp_store_repair.c --- */

/* Rebuilds all derived data. A repair that is interrupted can be started
 * again. */
void mcp_store_repair(mcp_store_op_t *op);

/*
 * Scans a whole log: sets the type of each chunk to MCP_CHUNK_MARK (none may
 * have this type before), *out to the correct value of *log, and *rec to the
 * last record. With "fix", corrects the derived data in the chunks. Returns 1,
 * or 0 if the log is broken.
 */
int mcp_store_log_scan(mcp_store_head_t *head, const mcp_store_log_t *log,
    int fix, mcp_store_log_t *out, mcp_store_record_t *rec);


#endif /* MCP_STORE_LAYOUT_H_INCLUDED */
