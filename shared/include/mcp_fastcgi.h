/* SPDX-License-Identifier: Apache-2.0 */

/* FastCGI 1.0, for glues whose server leaves it to them: the records of one
 * request on a connection, and those of its reply. */


#ifndef MCP_FASTCGI_H_INCLUDED
#define MCP_FASTCGI_H_INCLUDED


#include "mcp.h"


/* The length of a record's head; also of what BEGIN and END have in it. */
#define MCP_FASTCGI_HEAD  8

/* Types of records. */
#define MCP_FASTCGI_BEGIN   1
#define MCP_FASTCGI_PARAMS  4
#define MCP_FASTCGI_STDIN   5

/*
 * The request.  Each function writes at p and returns the end.
 */

/* The head of a record of len bytes, at most 65535, which follow it. */
char *mcp_fastcgi_record(char *p, int type, size_t len);

/* BEGIN, for a responder; keep: the connection is to stay. */
#define MCP_FASTCGI_BEGIN_LEN  (2 * MCP_FASTCGI_HEAD)
char *mcp_fastcgi_begin(char *p, int keep);

/* A parameter, for which there is room before end; NULL: there is none. */
char *mcp_fastcgi_param(char *p, const char *end, mcp_str_t name,
    mcp_str_t value);


/*
 * The reply.  Zeroed at first.
 */
typedef struct {
    unsigned char   head[MCP_FASTCGI_HEAD];
    unsigned char   have;          /* bytes of the head */
    unsigned char   padding;       /* bytes left of it */
    uint16_t        content;       /* likewise */
} mcp_fastcgi_t;

typedef enum {
    MCP_FASTCGI_MORE,              /* nothing more: read on */
    MCP_FASTCGI_OUT,               /* a piece of the answer */
    MCP_FASTCGI_OUT_END,           /* its end */
    MCP_FASTCGI_ERR,               /* a piece of a message for the log */
    MCP_FASTCGI_END,               /* the request is over */

    /* a record that is read over */
    MCP_FASTCGI_UNKNOWN,

    /* this is no reply to our request; nothing may follow */
    MCP_FASTCGI_BAD_VERSION,
    MCP_FASTCGI_BAD_ID
} mcp_fastcgi_e;

/* Reads on in what came, in any pieces, and shortens it by what is done with.
 * A piece lies in it and is not empty. */
mcp_fastcgi_e mcp_fastcgi_read(mcp_fastcgi_t *f, mcp_str_t *in,
    mcp_str_t *piece);

/* Whether a head is read, or the next one; whether what follows a content. */
#define mcp_fastcgi_is_between(f)  ((f)->have < MCP_FASTCGI_HEAD)
#define mcp_fastcgi_is_padded(f)                                              \
    (!mcp_fastcgi_is_between(f) && (f)->content == 0)

/* The type of the record that is being read; its version, its request. */
#define mcp_fastcgi_type(f)     ((f)->head[1])
#define mcp_fastcgi_version(f)  ((f)->head[0])
#define mcp_fastcgi_id(f)       ((f)->head[2] << 8 | (f)->head[3])


/*
 * The end of an answer's head, which is an empty line after another line.
 * Lines end with LF or CRLF; two line ends in a row are one only if they are
 * alike.
 */
typedef enum {
    MCP_FASTCGI_LINE = 0,
    MCP_FASTCGI_CR,
    MCP_FASTCGI_LF,
    MCP_FASTCGI_CRLF,
    MCP_FASTCGI_CRLF_CR
} mcp_fastcgi_state_e;

/* Reads on in a piece.  Returns how many of its bytes belong to the head, if
 * that ends in it, else 0. */
size_t mcp_fastcgi_head_end(mcp_fastcgi_state_e *state, mcp_str_t piece);


#endif /* MCP_FASTCGI_H_INCLUDED */
