
#include "mcp_fact.h"


const mcp_str_t  mcp_fact_names[MCP_FACT_COUNT] = {
    mcp_str("mcp_method"),
    mcp_str("mcp_name"),
    mcp_str("mcp_request_id"),
    mcp_str("mcp_session"),
    mcp_str("mcp_session_id"),
    mcp_str("mcp_principal"),
    mcp_str("mcp_protocol_version"),
    mcp_str("mcp_client_capabilities"),
    mcp_str("mcp_progress_token"),
    mcp_str("mcp_call"),
    mcp_str("mcp_publish_url"),
    mcp_str("mcp_outcome"),
    mcp_str("mcp_resumed"),
    mcp_str("mcp_events"),
    mcp_str("mcp_face")
};
