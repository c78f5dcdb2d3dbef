/* SPDX-License-Identifier: Apache-2.0 */

/*
 * FastCGI responses, after a first byte that chooses the split of the
 * response. The pieces must be those of the whole response read at once, and
 * those of a simple reader that has the whole response.  The position of the
 * end of the head must not depend on the split either.
 */


#include "fuzz_env.h"

#include "base/mcp_buf.h"
#include "mcp_fastcgi.h"


#define END  3
#define OUT  6
#define ERR  7

#define MAX  (1024 * 1024)


static void
add(mcp_buf_t *found, mcp_fastcgi_e e, mcp_str_t piece, mcp_fastcgi_e last)
{
    int  text = (e == MCP_FASTCGI_OUT || e == MCP_FASTCGI_ERR);

    if (e != last || !text) {
        mcp_buf_int(found, e);
    }

    if (text) {
        must(piece.len > 0);
        mcp_buf_str(found, piece);
    }
}


static void
read_all(const char *p, size_t len, size_t step, mcp_buf_t *found)
{
    size_t          n;
    mcp_str_t       in, piece;
    mcp_fastcgi_t   f = { .have = 0 };
    mcp_fastcgi_e   e, last = MCP_FASTCGI_MORE;

    for ( /* void */ ; len > 0; p += n, len -= n) {
        n = step < len ? step : len;
        in.data = p;
        in.len = n;

        for ( ;; ) {
            e = mcp_fastcgi_read(&f, &in, &piece);
            must(in.data >= p && in.data + in.len == p + n);

            if (e == MCP_FASTCGI_MORE) {
                break;
            }

            add(found, e, piece, last);
            last = e;

            if (e == MCP_FASTCGI_BAD_VERSION || e == MCP_FASTCGI_BAD_ID) {
                return;
            }
        }

        must(in.len == 0);
    }
}


/* Reads a whole response by the specification. */
static void
slow_read(const unsigned char *p, size_t len, mcp_buf_t *found)
{
    size_t          content, n;
    mcp_str_t       piece;
    mcp_fastcgi_e   e, last = MCP_FASTCGI_MORE;

    while (len >= MCP_FASTCGI_HEAD) {
        content = (size_t) p[4] * 256 + p[5];
        n = len - MCP_FASTCGI_HEAD < content ? len - MCP_FASTCGI_HEAD : content;
        piece.data = (const char *) p + MCP_FASTCGI_HEAD;
        piece.len = n;

        if (p[0] != 1 || p[2] != 0 || p[3] != 1) {
            add(found, p[0] != 1 ? MCP_FASTCGI_BAD_VERSION : MCP_FASTCGI_BAD_ID,
                piece, last);
            return;
        }

        e = p[1] == OUT ? content > 0 ? MCP_FASTCGI_OUT : MCP_FASTCGI_OUT_END
            : p[1] == ERR ? MCP_FASTCGI_ERR
            : p[1] == END ? MCP_FASTCGI_END : MCP_FASTCGI_UNKNOWN;

        if (e == MCP_FASTCGI_END
            && len < MCP_FASTCGI_HEAD + content + p[6])
        {
            return;
        }

        if (n > 0 || (e != MCP_FASTCGI_OUT && e != MCP_FASTCGI_ERR)) {
            add(found, e, piece, last);
            last = e;
        }

        if (len < MCP_FASTCGI_HEAD + content + p[6]) {
            return;
        }

        len -= MCP_FASTCGI_HEAD + content + p[6];
        p += MCP_FASTCGI_HEAD + content + p[6];
    }
}


static size_t
head_of(const char *p, size_t len, size_t step)
{
    size_t               n, at, end;
    mcp_str_t            piece;
    mcp_fastcgi_state_e  state = MCP_FASTCGI_LINE;

    for (at = 0; at < len; at += n) {
        n = step < len - at ? step : len - at;
        piece.data = p + at;
        piece.len = n;
        end = mcp_fastcgi_head_end(&state, piece);

        must(end <= n);

        if (end > 0) {
            return at + end;
        }
    }

    return 0;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t       step, end;
    mcp_buf_t    whole, cut, slow;
    const char  *p;

    if (size < 2) {
        return 0;
    }

    step = data[0] + 1u;
    p = (const char *) data + 1;
    size--;

    mcp_buf_init(&whole, &mem, MAX);
    mcp_buf_init(&cut, &mem, MAX);
    mcp_buf_init(&slow, &mem, MAX);

    read_all(p, size, size, &whole);
    read_all(p, size, step, &cut);
    slow_read(data + 1, size, &slow);

    must(whole.len == cut.len && whole.len == slow.len);
    must(whole.len == 0 || memcmp(whole.data, cut.data, cut.len) == 0);
    must(whole.len == 0 || memcmp(whole.data, slow.data, slow.len) == 0);

    end = head_of(p, size, size);

    must(end == head_of(p, size, step));
    must(end == 0 || (end >= 2 && p[end - 1] == '\n'));

    mcp_buf_free(&whole);
    mcp_buf_free(&cut);
    mcp_buf_free(&slow);
    must(live == 0);

    return 0;
}
