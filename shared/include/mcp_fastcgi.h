/* SPDX-License-Identifier: Apache-2.0 */

/* FastCGI 1.0 (records), for a glue whose server leaves the protocol to the
 * glue: writes the records of one request, and reads the records of its
 * response. */


#ifndef MCP_FASTCGI_H_INCLUDED
#define MCP_FASTCGI_H_INCLUDED


#include "mcp.h"


/* Length of a record's header, and of the contents of BEGIN and END
 * records. */
#define MCP_FASTCGI_HEAD  8

/* Types of the records of a request. */
#define MCP_FASTCGI_BEGIN   1
#define MCP_FASTCGI_PARAMS  4
#define MCP_FASTCGI_STDIN   5

/*
 * Functions that write a request. Each writes at p and returns the end of the
 * written bytes.
 */

/* Writes the header of a record whose content has len bytes, at most 65535. */
char *mcp_fastcgi_record(char *p, int type, size_t len);

/* Writes a BEGIN record, MCP_FASTCGI_BEGIN_LEN bytes, in the role of
 * responder. If keep is 1, the backend leaves the connection open after the
 * request. */
#define MCP_FASTCGI_BEGIN_LEN  (2 * MCP_FASTCGI_HEAD)
char *mcp_fastcgi_begin(char *p, int keep);

/* Writes one parameter. Returns NULL if there may not be enough room before
 * end. */
char *mcp_fastcgi_param(char *p, const char *end, mcp_str_t name,
    mcp_str_t value);


/* Reader of a response. All bytes are zero before the first record. */
typedef struct {
    unsigned char   head[MCP_FASTCGI_HEAD];
    unsigned char   have;          /* number of bytes of the header that have
                                      been read */
    unsigned char   padding;       /* unread bytes of padding */
    uint16_t        content;       /* unread bytes of content */
} mcp_fastcgi_t;

typedef enum {
    MCP_FASTCGI_MORE,              /* all input was consumed: read more */
    MCP_FASTCGI_OUT,               /* a piece of the response */
    MCP_FASTCGI_OUT_END,           /* the end of the response */
    MCP_FASTCGI_ERR,               /* a piece of a message for the log */
    MCP_FASTCGI_END,               /* the END record: the request is
                                      complete */

    /* the header of a record with an unknown type; the next call skips its
     * content */
    MCP_FASTCGI_UNKNOWN,

    /* the record has another version or request id, so the bytes are not a
     * response to the request: the connection must be closed */
    MCP_FASTCGI_BAD_VERSION,
    MCP_FASTCGI_BAD_ID
} mcp_fastcgi_e;

/* Reads records from *in, which may end anywhere, and removes the consumed
 * bytes from it. For MCP_FASTCGI_OUT and MCP_FASTCGI_ERR, *piece is a slice of
 * the input and is not empty. */
mcp_fastcgi_e mcp_fastcgi_read(mcp_fastcgi_t *f, mcp_str_t *in,
    mcp_str_t *piece);

/* mcp_fastcgi_is_between() is 1 if the next byte belongs to a header;
 * mcp_fastcgi_is_padded() is 1 if the content of the current record is
 * complete, and padding may follow. */
#define mcp_fastcgi_is_between(f)  ((f)->have < MCP_FASTCGI_HEAD)
#define mcp_fastcgi_is_padded(f)                                              \
    (!mcp_fastcgi_is_between(f) && (f)->content == 0)

/* Type, version and request id in the header of the current record. */
#define mcp_fastcgi_type(f)     ((f)->head[1])
#define mcp_fastcgi_version(f)  ((f)->head[0])
#define mcp_fastcgi_id(f)       ((f)->head[2] << 8 | (f)->head[3])


/*
 * States of the search for the end of the response's head, which is an empty
 * line after another line. Lines end with LF or CRLF; only two equal line ends
 * in a row form an empty line.
 */
typedef enum {
    MCP_FASTCGI_LINE = 0,
    MCP_FASTCGI_CR,
    MCP_FASTCGI_LF,
    MCP_FASTCGI_CRLF,
    MCP_FASTCGI_CRLF_CR
} mcp_fastcgi_state_e;

/* Continues the search in the next piece of the response. Returns the number
 * of bytes of the piece that belong to the head if the head ends in it,
 * otherwise 0. */
size_t mcp_fastcgi_head_end(mcp_fastcgi_state_e *state, mcp_str_t piece);


#endif /* MCP_FASTCGI_H_INCLUDED */
