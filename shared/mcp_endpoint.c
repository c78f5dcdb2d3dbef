
#include "mcp_endpoint.h"


unsigned
mcp_endpoint_route(const mcp_endpoint_t *endpoint, mcp_str_t name)
{
    size_t  i;

    for (i = 0; i < endpoint->n_routes; i++) {
        if (mcp_match(endpoint->routes[i].match, name)) {
            return endpoint->routes[i].target;
        }
    }

    return endpoint->target;
}


int
mcp_endpoint_offers(const mcp_endpoint_t *endpoint, mcp_catalog_kind_e kind)
{
    if (endpoint->catalog == NULL) {
        return endpoint->target != MCP_NO_TARGET;
    }

    return mcp_catalog_has(endpoint->catalog, kind);
}


int
mcp_endpoint_completes(const mcp_endpoint_t *endpoint)
{
    if (endpoint->catalog == NULL) {
        return endpoint->target != MCP_NO_TARGET;
    }

    return mcp_catalog_completions(endpoint->catalog);
}


static void
mcp_endpoint_comma(mcp_buf_t *buf, int *first)
{
    if (!*first) {
        mcp_buf_lit(buf, ",");
    }

    *first = 0;
}


void
mcp_endpoint_capabilities(const mcp_endpoint_t *endpoint, mcp_buf_t *buf)
{
    int  first;

    first = 1;

    mcp_buf_lit(buf, "{");

    if (mcp_endpoint_offers(endpoint, MCP_CATALOG_TOOLS)) {
        mcp_endpoint_comma(buf, &first);
        mcp_buf_lit(buf, "\"tools\":{\"listChanged\":true}");
    }

    if (mcp_endpoint_offers(endpoint, MCP_CATALOG_PROMPTS)) {
        mcp_endpoint_comma(buf, &first);
        mcp_buf_lit(buf, "\"prompts\":{\"listChanged\":true}");
    }

    if (mcp_endpoint_offers(endpoint, MCP_CATALOG_RESOURCES)
        || mcp_endpoint_offers(endpoint, MCP_CATALOG_TEMPLATES))
    {
        mcp_endpoint_comma(buf, &first);
        mcp_buf_lit(buf,
                    "\"resources\":{\"subscribe\":true,\"listChanged\":true}");
    }

    if (mcp_endpoint_completes(endpoint)) {
        mcp_endpoint_comma(buf, &first);
        mcp_buf_lit(buf, "\"completions\":{}");
    }

    mcp_endpoint_comma(buf, &first);
    mcp_buf_lit(buf, "\"logging\":{}}");
}
