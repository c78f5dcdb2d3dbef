/* SPDX-License-Identifier: Apache-2.0 */

/* Former names of directives and variables. A configuration that contains a
 * former name is rejected with an error that contains the new name. */

#ifndef MCP_RENAMED_H_INCLUDED
#define MCP_RENAMED_H_INCLUDED


/* X(old nginx name, new nginx name, old Apache name, new Apache name) */
#define MCP_RENAMED_DIRECTIVES(X)                                             \
    X("mcp_share_by", "mcp_quota_key",                                        \
      "MCPShareBy", "MCPQuotaKey")                                            \
    X("mcp_max_principal_streams", "mcp_quota_streams",                       \
      "MCPMaxPrincipalStreams", "MCPQuotaStreams")                            \
    X("mcp_max_party_streams", "mcp_quota_streams",                           \
      "MCPMaxPartyStreams", "MCPQuotaStreams")                                \
    X("mcp_max_party_listeners", "mcp_quota_listeners",                       \
      "MCPMaxPartyListeners", "MCPQuotaListeners")                            \
    X("mcp_max_party_values", "mcp_quota_values",                             \
      "MCPMaxPartyValues", "MCPQuotaValues")                                  \
    X("mcp_max_party_bytes", "mcp_quota_bytes",                               \
      "MCPMaxPartyBytes", "MCPQuotaBytes")                                    \
    X("mcp_cluster_dead_after", "mcp_cluster_node_timeout",                   \
      "MCPClusterDeadAfter", "MCPClusterNodeTimeout")                         \
    X("mcp_cluster_patience", "mcp_cluster_outage_timeout",                   \
      "MCPClusterPatience", "MCPClusterOutageTimeout")


/* X(old nginx name, new nginx name), without the dollar sign */
#define MCP_RENAMED_VARIABLES(X)                                              \
    X("mcp_sent_method", "mcp_header_method")                                 \
    X("mcp_sent_name", "mcp_header_name")                                     \
    X("mcp_face", "mcp_resume_method")


#endif /* MCP_RENAMED_H_INCLUDED */
