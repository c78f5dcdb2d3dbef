/* SPDX-License-Identifier: Apache-2.0 */

/* An allocator that keeps freed blocks of memory in one list for each size. A
 * header in front of each block contains the number of its list. */


#include <stddef.h>

#include "mcp_free_list.h"


/*
 * 1 if freed memory is kept for later allocations, 0 in builds with
 * AddressSanitizer, which detects a use after free only if the memory is really
 * freed.
 */
#if defined(__SANITIZE_ADDRESS__)
#define MCP_FREE_LIST_KEEPS  0

#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MCP_FREE_LIST_KEEPS  0
#endif
#endif

#ifndef MCP_FREE_LIST_KEEPS
#define MCP_FREE_LIST_KEEPS  1
#endif


typedef union {
    size_t       size;         /* index of the block's list: the size of the
                                  block divided by MCP_FREE_LIST_STEP;
                                  MCP_FREE_LIST_SIZES if the block is too large
                                  for a list */
    max_align_t  align;
} mcp_free_list_head_t;


/* Returns the address of the next block in a free list, which is stored at the
 * beginning of the free memory "piece". */
static void *
mcp_free_list_next(const void *piece)
{
    void  *next;

    memcpy(&next, piece, sizeof(next));

    return next;
}


static void *
mcp_free_list_alloc(void *ctx, size_t size)
{
    size_t                 i;
    mcp_free_list_t       *list = ctx;
    mcp_free_list_head_t  *head;

    if (size > MCP_FREE_LIST_STEP * (MCP_FREE_LIST_SIZES - 1)) {
        i = MCP_FREE_LIST_SIZES;

    } else {
        i = (size + MCP_FREE_LIST_STEP - 1) / MCP_FREE_LIST_STEP;
        size = i * MCP_FREE_LIST_STEP;

        if (list->first[i]) {
            head = list->first[i];
            list->first[i] = mcp_free_list_next(head + 1);
            list->n[i]--;

            return head + 1;
        }
    }

    if (size > SIZE_MAX - sizeof(mcp_free_list_head_t)) {
        return NULL;
    }

    head = list->below.alloc(list->below.ctx,
                              sizeof(mcp_free_list_head_t) + size);
    if (head == NULL) {
        return NULL;
    }

    head->size = i;

    return head + 1;
}


static void
mcp_free_list_free(void *ctx, void *p)
{
    size_t                 i;
    mcp_free_list_t       *list = ctx;
    mcp_free_list_head_t  *head;

    if (p == NULL) {
        return;
    }

    head = (mcp_free_list_head_t *) p - 1;
    i = head->size;

    /* a block of size 0 is not kept, because it has no room for the address of
     * the next block */

    if (!MCP_FREE_LIST_KEEPS || i == 0 || i == MCP_FREE_LIST_SIZES
        || list->n[i] == MCP_FREE_LIST_MAX)
    {
        list->below.free(list->below.ctx, head);
        return;
    }

    memcpy(p, &list->first[i], sizeof(void *));
    list->first[i] = head;
    list->n[i]++;
}


mcp_mem_t
mcp_free_list_init(mcp_free_list_t *list, const mcp_mem_t *below)
{
    memset(list, 0, sizeof(mcp_free_list_t));
    list->below = *below;

    return (mcp_mem_t) { mcp_free_list_alloc, mcp_free_list_free, list };
}


void
mcp_free_list_clear(mcp_free_list_t *list)
{
    size_t                 i;
    mcp_free_list_head_t  *head;

    for (i = 0; i < MCP_FREE_LIST_SIZES; i++) {
        while (list->first[i]) {
            head = list->first[i];
            list->first[i] = mcp_free_list_next(head + 1);
            list->below.free(list->below.ctx, head);
        }

        list->n[i] = 0;
    }
}
