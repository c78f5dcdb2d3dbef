/* SPDX-License-Identifier: Apache-2.0 */

/* Free lists by size.  In front of each piece stands which list it is of. */


#include <stddef.h>

#include "mcp_spare.h"


/* AddressSanitizer finds what is used after its end only if that is freed. */
#if defined(__SANITIZE_ADDRESS__)
#define MCP_SPARE_KEEPS  0

#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MCP_SPARE_KEEPS  0
#endif
#endif

#ifndef MCP_SPARE_KEEPS
#define MCP_SPARE_KEEPS  1
#endif


typedef union {
    size_t       size;         /* in steps */
    max_align_t  align;
} mcp_spare_head_t;


/* What a piece that is kept has in it: the one behind it. */
static void *
mcp_spare_next(const void *piece)
{
    void  *next;

    memcpy(&next, piece, sizeof(next));

    return next;
}


static void *
mcp_spare_alloc(void *ctx, size_t size)
{
    size_t             i;
    mcp_spare_t       *spare = ctx;
    mcp_spare_head_t  *head;

    if (size > MCP_SPARE_STEP * (MCP_SPARE_SIZES - 1)) {
        i = MCP_SPARE_SIZES;

    } else {
        i = (size + MCP_SPARE_STEP - 1) / MCP_SPARE_STEP;
        size = i * MCP_SPARE_STEP;

        if (spare->first[i]) {
            head = spare->first[i];
            spare->first[i] = mcp_spare_next(head + 1);
            spare->n[i]--;

            return head + 1;
        }
    }

    if (size > SIZE_MAX - sizeof(mcp_spare_head_t)) {
        return NULL;
    }

    head = spare->below.alloc(spare->below.ctx,
                              sizeof(mcp_spare_head_t) + size);
    if (head == NULL) {
        return NULL;
    }

    head->size = i;

    return head + 1;
}


static void
mcp_spare_free(void *ctx, void *p)
{
    size_t             i;
    mcp_spare_t       *spare = ctx;
    mcp_spare_head_t  *head;

    if (p == NULL) {
        return;
    }

    head = (mcp_spare_head_t *) p - 1;
    i = head->size;

    /* what has no bytes has no room for the next one's place */

    if (!MCP_SPARE_KEEPS || i == 0 || i == MCP_SPARE_SIZES
        || spare->n[i] == MCP_SPARE_MAX)
    {
        spare->below.free(spare->below.ctx, head);
        return;
    }

    memcpy(p, &spare->first[i], sizeof(void *));
    spare->first[i] = head;
    spare->n[i]++;
}


mcp_mem_t
mcp_spare_init(mcp_spare_t *spare, const mcp_mem_t *below)
{
    memset(spare, 0, sizeof(mcp_spare_t));
    spare->below = *below;

    return (mcp_mem_t) { mcp_spare_alloc, mcp_spare_free, spare };
}


void
mcp_spare_clear(mcp_spare_t *spare)
{
    size_t             i;
    mcp_spare_head_t  *head;

    for (i = 0; i < MCP_SPARE_SIZES; i++) {
        while (spare->first[i]) {
            head = spare->first[i];
            spare->first[i] = mcp_spare_next(head + 1);
            spare->below.free(spare->below.ctx, head);
        }

        spare->n[i] = 0;
    }
}
