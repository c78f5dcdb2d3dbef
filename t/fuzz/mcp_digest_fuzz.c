/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Digests of the params of a request.  Params in another spelling (order of
 * members, escapes in strings, form of numbers) must have the same digest, and
 * the memory for the digest is bounded by the length of the params.
 */


#include "fuzz_respell.h"

#include "rpc/mcp_digest.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_buf_t         out;
    mcp_json_value_t  root, again;
    unsigned char     one[MCP_DIGEST_LEN], two[MCP_DIGEST_LEN];

    if (size == 0
        || !is_object((mcp_str_t) { (const char *) data + 1, size - 1 },
                      &root))
    {
        return 0;
    }

    must(mcp_digest_params(&fuzz_mem, root.raw, DEPTH, one) == MCP_OK);

    mcp_buf_init(&out, &fuzz_mem, SIZE_MAX / 2);
    respell(&out, root, data[0]);
    must(out.failed == MCP_OK);
    must(is_object((mcp_str_t) { out.data, out.len }, &again));
    must(mcp_digest_params(&fuzz_mem, again.raw, DEPTH, two) == MCP_OK);
    must(memcmp(one, two, MCP_DIGEST_LEN) == 0);
    mcp_buf_free(&out);

    must(live == 0);

    return 0;
}
