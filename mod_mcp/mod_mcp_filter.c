/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Detects output filters that might block.  The event loop serves all clients
 * of a process, so filters must neither sleep in it nor wait for a socket.
 */

#include "mod_mcp_stream.h"


#include "util_filter.h"

/*
 * Output is passed to filters in pieces of at most PIECE bytes.  A piece is
 * half of FlushMaxThreshold at most, so that httpd does not block to flush it.
 * If that is less than PIECE_MIN bytes, mod_mcp assumes that filters block.
 */
#define PIECE      32768
#define PIECE_MIN  2048

/*
 * Filters of httpd that do not block: they wait for nothing but the socket, and
 * only because of a flush bucket.  After a metadata bucket they hold no data
 * back.
 */
static const char *const prompt_names[] = {
    "BYTERANGE", "CONTENT_LENGTH", "HTTP_HEADER", "HTTP_OUTERROR", "CHUNK",
    "OLD_WRITE", "FIXUP_HEADERS_OUT", "FIXUP_HEADERS_ERR", "MOD_EXPIRES",
    "DEFLATE", "BROTLI_COMPRESS", "LOGIO_TTFB_OUT", "REQTIMEOUT", "DUMPIO_OUT",
    "SSL/TLS Coalescing Filter", "SSL/TLS Filter", MOD_MCP_STREAM_FILTER, "CORE"
};

#define PROMPT  (sizeof(prompt_names) / sizeof(prompt_names[0]))

/* the prefix that mod_filter puts before the names of filters that it runs */
#define BYTYPE  "BYTYPE:"

static const ap_filter_rec_t *prompt[PROMPT];

void mod_mcp_filter_init(void)
{
    apr_size_t i;

    for (i = 0; i < PROMPT; i++) {
        prompt[i] = ap_get_output_filter_handle(prompt_names[i]);
    }
}

static int is_prompt(const ap_filter_rec_t *frec)
{
    apr_size_t i, len = strlen(BYTYPE);

    for (i = 0; i < PROMPT; i++) {
        if (frec == prompt[i]) {
            return 1;
        }
    }

    if (strncasecmp(frec->name, BYTYPE, len) != 0) {
        return 0;
    }

    for (i = 0; i < PROMPT; i++) {
        if (strcasecmp(frec->name + len, prompt_names[i]) == 0) {
            return 1;
        }
    }

    return 0;
}

static apr_size_t flush_threshold(const conn_rec *c)
{
    const core_server_config *core;

    core = ap_get_core_module_config(c->base_server->module_config);

    return core->flush_max_threshold;
}

/* Returns half of FlushMaxThreshold, but at least PIECE_MIN and at most PIECE.
 * The other half is for the bytes that filters add to a piece, because they
 * write both at once. */
apr_size_t mod_mcp_filter_piece(const conn_rec *c)
{
    apr_size_t piece = flush_threshold(c) / 2;

    return piece < PIECE_MIN ? PIECE_MIN : piece < PIECE ? piece : PIECE;
}

/* Counts all filters that prompt_names[] does not list as blocking, because
 * their behaviour is unknown.  If FlushMaxThreshold is less than twice
 * PIECE_MIN, all requests count as blocked. */
int mod_mcp_filter_blocks(request_rec *r)
{
    ap_filter_t *f;

    if (flush_threshold(r->connection) < 2 * PIECE_MIN) {
        return 1;
    }

    for (f = r->output_filters; f; f = f->next) {
        if (!is_prompt(f->frec)) {
            return 1;
        }
    }

    return 0;
}
