/* SPDX-License-Identifier: Apache-2.0 */

/* The nginx and Apache names of directives that both servers have, and the
 * former names of directives and variables. The names of options are in
 * mcp_number_option.h and mcp_cluster_conf.h. */

#ifndef MCP_DIRECTIVE_H_INCLUDED
#define MCP_DIRECTIVE_H_INCLUDED


/*
 * The directives of an endpoint: NAME, nginx name, Apache name, the arguments
 * in nginx's notation, and a description. The glue defines X and W so that each
 * makes a row of its table of commands:
 *
 *   X  for a directive that a function of the glue with this NAME handles
 *   W  for a directive whose arguments are passed, one by one, to
 *      mcp_setup_NAME()
 */
#define MCP_DIRECTIVES(X, W)                                                  \
    X(server, "mcp_server", "MCPServer", TAKE23,                              \
      "name, version and title that clients receive")                         \
    X(catalog, "mcp_catalog", "MCPCatalog", TAKE1,                            \
      "file that lists tools, prompts and resources")                         \
    X(backend, "mcp_backend", "MCPBackend", TAKE1,                            \
      "path to which calls are sent")                                         \
    X(route, "mcp_route", "MCPRoute", TAKE2,                                  \
      "name or ~regex, and the path to which calls of such items are sent")   \
    X(key, "mcp_key", "MCPKey", 1MORE,                                        \
      "files with secrets: the first signs, all verify")                      \
    X(allow, "mcp_allow", "MCPAllow", TAKE2,                                  \
      "pattern of names, and an expression that is true if callers may use "  \
      "such items")                                                           \
    X(granted_scopes, "mcp_granted_scopes", "MCPGrantedScopes", TAKE1,        \
      "expression whose value is the scopes of the caller")                   \
    W(origin, "mcp_allow_origin", "MCPAllowOrigin", 1MORE,                    \
      "origins whose pages may use the endpoint")                             \
    W(revision, "mcp_revisions", "MCPRevisions", 1MORE,                       \
      "revisions of the protocol that the endpoint serves")                   \
    W(auth_resource, "mcp_auth_resource", "MCPAuthResource", TAKE1,           \
      "URI that identifies the endpoint in tokens, or off")                   \
    W(auth_server, "mcp_auth_server", "MCPAuthServer", 1MORE,                 \
      "URIs of the issuers of the endpoint's tokens")                         \
    W(auth_scope, "mcp_auth_scopes", "MCPAuthScopes", 1MORE,                  \
      "scopes that clients of the endpoint need")                             \
    W(publish_token, "mcp_publish_token", "MCPPublishToken", TAKE1,           \
      "secret that publishers of notifications send")                         \
    W(publish_url, "mcp_publish_url", "MCPPublishURL", TAKE1,                 \
      "URL by which backends reach the publish endpoint")

/* The directives of an endpoint that exist only in builds with MCP_CLUSTER, in
 * the form of MCP_DIRECTIVES. */
#define MCP_CLUSTER_DIRECTIVES(W)                                             \
    W(cluster_endpoint, "mcp_cluster_endpoint", "MCPClusterEndpoint", TAKE1,  \
      "name of the endpoint at all nodes of the cluster")


/* A configuration that contains a former name is rejected with an error that
 * contains the new name: */

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


#endif /* MCP_DIRECTIVE_H_INCLUDED */
