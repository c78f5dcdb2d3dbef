
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


const mcp_str_t  mcp_fact_env[MCP_FACT_COUNT] = {
    [MCP_FACT_METHOD] = mcp_str("MCP_METHOD"),
    [MCP_FACT_NAME] = mcp_str("MCP_NAME"),
    [MCP_FACT_REQUEST_ID] = mcp_str("MCP_REQUEST_ID"),
    [MCP_FACT_SESSION_ID] = mcp_str("MCP_SESSION"),
    [MCP_FACT_PRINCIPAL] = mcp_str("MCP_PRINCIPAL"),
    [MCP_FACT_PROTOCOL_VERSION] = mcp_str("MCP_PROTOCOL_VERSION"),
    [MCP_FACT_CLIENT_CAPABILITIES] = mcp_str("MCP_CLIENT_CAPABILITIES"),
    [MCP_FACT_PROGRESS_TOKEN] = mcp_str("MCP_PROGRESS_TOKEN"),
    [MCP_FACT_CALL] = mcp_str("MCP_CALL"),
    [MCP_FACT_PUBLISH_URL] = mcp_str("MCP_PUBLISH_URL")
};
