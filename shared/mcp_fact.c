
#include "mcp_fact.h"


#define mcp_fact_name(text)  { text, sizeof(text) - 1 }


const mcp_str_t  mcp_fact_names[MCP_FACT_COUNT] = {
    mcp_fact_name("mcp_method"),
    mcp_fact_name("mcp_name"),
    mcp_fact_name("mcp_request_id"),
    mcp_fact_name("mcp_session"),
    mcp_fact_name("mcp_session_id"),
    mcp_fact_name("mcp_principal"),
    mcp_fact_name("mcp_protocol_version"),
    mcp_fact_name("mcp_client_capabilities"),
    mcp_fact_name("mcp_progress_token"),
    mcp_fact_name("mcp_call"),
    mcp_fact_name("mcp_publish_url"),
    mcp_fact_name("mcp_outcome"),
    mcp_fact_name("mcp_resumed"),
    mcp_fact_name("mcp_events"),
    mcp_fact_name("mcp_face")
};
