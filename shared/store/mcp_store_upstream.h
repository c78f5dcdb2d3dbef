/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Statistics of MCP servers that are backends. Each server of each endpoint has
 * a row in a table of the zone. The size of the table follows from that of the
 * zone and never changes.
 *
 * The configuration in use determines which rows are shown. A row that is not
 * in use, and whose server has no session in the zone, can be taken for another
 * server.
 */


#ifndef MCP_STORE_UPSTREAM_H_INCLUDED
#define MCP_STORE_UPSTREAM_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "store/mcp_store_call_stats.h"


/* Maximum number of servers in a zone. */
#define MCP_STORE_UPSTREAMS         32

#define MCP_STORE_UPSTREAM_NAME     64 /* bytes of text, including the NUL */
#define MCP_STORE_UPSTREAM_SERVER   48
#define MCP_STORE_UPSTREAM_VERSION  24
#define MCP_STORE_UPSTREAM_DETAIL   64


/* A reference to a row, for the functions below: the number of the row, and how
 * often the row was taken. NONE: the server has no row, and the functions have
 * no effect. */
typedef uint32_t  mcp_store_upstream_row_t;

#define MCP_STORE_UPSTREAM_NONE  0


typedef enum {
    MCP_UPSTREAM_UNKNOWN = 0,          /* no request was sent to the server
                                          yet */
    MCP_UPSTREAM_DOWN,
    MCP_UPSTREAM_UP
} mcp_upstream_up_e;


/* A copy of a row. Texts are UTF-8 without control characters and end with a
 * NUL. */
typedef struct {
    /* endpoint and name together are unique even if truncated */
    char               endpoint[MCP_CALL_STATS_ENDPOINT];
    char               name[MCP_STORE_UPSTREAM_NAME];  /* name of the backend */
    unsigned           form;           /* mcp_upstream_e; AUTO: no request has
                                          shown the form of the server yet */
    mcp_revision_e     revision;       /* revision in which the server was last
                                          called; NONE: unknown */
    mcp_upstream_up_e  up;             /* whether the last request got a
                                          response */
    uint64_t           opened;         /* number of initialize requests that
                                          succeeded */
    uint64_t           refused;        /* number of initialize requests that
                                          failed */
    uint32_t           sessions;       /* number of the zone's sessions at the
                                          server */

    /* name and version that the server has sent; empty if it has sent none */
    char               server[MCP_STORE_UPSTREAM_SERVER];
    char               version[MCP_STORE_UPSTREAM_VERSION];

    uint64_t           failed_at;      /* time of the last error, ms; 0:
                                          never */
    unsigned           reason;         /* mcp_reason_e of the last error */
    char               detail[MCP_STORE_UPSTREAM_DETAIL];  /* text of the last
                                          error, as in the log; empty: none */
} mcp_store_upstream_t;


/* The server to which a row belongs. The key of the row is a digest of
 * catalog_key, identity and name. */
typedef struct {
    const unsigned char  *catalog_key; /* mcp_endpoint_t.catalog_key,
                                          MCP_DIGEST_LEN bytes */
    mcp_str_t             identity;    /* mcp_endpoint_t.identity */
    mcp_str_t             endpoint;    /* readable name of the endpoint */
    mcp_str_t             name;        /* name of the backend */
    unsigned              form;        /* mcp_upstream_e of the configuration */
    mcp_revision_e        revision;    /* revision of the first requests to a
                                          server with this value of
                                          mcp_upstream; NONE: unknown */
} mcp_store_upstream_item_t;


/* The session of a caller at a server. */
typedef struct {
    mcp_store_upstream_row_t  row;     /* the server */
    const unsigned char      *key;     /* key of the value, MCP_DIGEST_LEN
                                          bytes */
    mcp_str_t                 text;    /* text of the value */
    uint64_t                  expires; /* ms */
    const mcp_tenant_t       *tenant;  /* may be NULL */
    uint64_t                  max;     /* maximum number of sessions of the
                                          server; 0: no maximum */
    uint64_t                  until;   /* time, ms, until which the session is
                                          in use, see
                                          mcp_store_upstream_session_get(); 0:
                                          it is not in use */
} mcp_store_session_t;

/* A session that was removed to make room for another session at the same
 * server. */
typedef struct {
    mcp_store_upstream_row_t  row;
    unsigned char             key[MCP_DIGEST_LEN];
    size_t                    len;     /* length of text; 0: none was removed */
    char                      text[MCP_STORE_TEXT_MAX];
} mcp_store_dropped_t;


/* Makes the configuration with this number the configuration in use. No two
 * configurations have the same number. */
void mcp_store_upstream_begin(mcp_store_t *store, uint32_t number);

/*
 * Finds the row of a server of the configuration in use, or takes one for it,
 * and sets *row.
 *
 * Returns MCP_OK, or, with *row set to MCP_STORE_UPSTREAM_NONE,
 *   MCP_ERR_FULL  all rows are taken
 */
int mcp_store_upstream_offer(mcp_store_t *store,
    const mcp_store_upstream_item_t *item, mcp_store_upstream_row_t *row);

/* These functions store whether the last request got a response, and the form
 * and the revision in which the server is called. They take no lock, and write
 * a number only if it changes. */
void mcp_store_upstream_up(mcp_store_t *store, mcp_store_upstream_row_t row,
    mcp_upstream_up_e up);
void mcp_store_upstream_form(mcp_store_t *store, mcp_store_upstream_row_t row,
    unsigned form);
void mcp_store_upstream_revision(mcp_store_t *store,
    mcp_store_upstream_row_t row, mcp_revision_e revision);

/* Counts an initialize request; ok is 1 if it succeeded. */
void mcp_store_upstream_initialized(mcp_store_t *store,
    mcp_store_upstream_row_t row, int ok);

/* Stores the name and the version of the server. */
void mcp_store_upstream_describe(mcp_store_t *store,
    mcp_store_upstream_row_t row, mcp_str_t server, mcp_str_t version);

/* Stores the time, the reason and the text of the server's last error. */
void mcp_store_upstream_failed(mcp_store_t *store,
    mcp_store_upstream_row_t row, mcp_reason_e reason, mcp_str_t detail,
    uint64_t now);

/*
 * Adds a session, as mcp_store_text_put() does with the purpose
 * MCP_VALUE_UPSTREAM_SESSION, and counts it in the server's row until it is
 * removed. If the server has the maximum number of sessions, first removes the
 * first session that this list finds:
 *
 *   1. the idle session of this tenant that was used least recently
 *   2. an idle session of a tenant that has many sessions
 *   3. and 4. the same, with sessions that are in use
 *
 * Sets *dropped to the first of the server's sessions that was removed; sets
 * dropped->len to 0 if none was. Returns the values of mcp_store_text_put(),
 * but MCP_OK if the zone has a session with this key and this text: in a
 * cluster, another process may have got the session from Redis and added it.
 * Returns MCP_ERR_LIMIT also if no session was found that may be removed, or
 * the server still has the maximum number.
 */
int mcp_store_upstream_session(mcp_store_t *store,
    const mcp_store_session_t *session, uint64_t now,
    mcp_store_dropped_t *dropped);

/*
 * Reads a session, as mcp_store_text_read() does. From then on, the session is
 * in use by this process: until the process calls
 * mcp_store_upstream_session_leave(), but at most until the time "until" (ms),
 * because the process may be killed. mcp_store_upstream_session_renew() sets a
 * later time.
 */
int mcp_store_upstream_session_get(mcp_store_t *store,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now, uint64_t expires,
    uint64_t until, char text[MCP_STORE_TEXT_MAX], size_t *len, int *extended);

/* Both count as a use of the session, and do nothing if it does not exist. If
 * other processes use the session, it is still in use after
 * mcp_store_upstream_session_leave(). */
void mcp_store_upstream_session_renew(mcp_store_t *store,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now, uint64_t until);
void mcp_store_upstream_session_leave(mcp_store_t *store,
    const unsigned char key[MCP_DIGEST_LEN]);

/* Copies the rows that the configuration in use has, in the order of their
 * numbers, and returns how many there are. */
size_t mcp_store_upstream_all(mcp_store_t *store,
    mcp_store_upstream_t out[MCP_STORE_UPSTREAMS]);


#endif /* MCP_STORE_UPSTREAM_H_INCLUDED */
