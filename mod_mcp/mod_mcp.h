/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Declarations for all files of the Apache glue.  The protocol itself is in
 * shared/; the glue connects the protocol to httpd.  Most files have a header
 * of the same name; the functions of some small files are declared in the
 * header of a related file:
 *
 *   mod_mcp.c             hooks
 *
 *   mod_mcp_directives.c  the table of directives
 *   mod_mcp_config.c      sections, their inheritance, their endpoints
 *   mod_mcp_path.c        paths of endpoints and backends
 *   mod_mcp_check.c       warnings and errors at startup
 *
 *   mod_mcp_zone.c          shared memory, slots of processes, wake-ups
 *   mod_mcp_child.c         start and end of a child process
 *   mod_mcp_worker.c        the core's worker, its lock and its actions
 *   mod_mcp_event_loop.c    the thread that serves clients without a thread
 *   mod_mcp_poller.c        the sockets that the event loop polls
 *   mod_mcp_cluster.c       connections to Redis
 *   mod_mcp_cluster_conf.c  directives of the cluster
 *   mod_mcp_logger.c        the thread that logs requests of suspended clients
 *   mod_mcp_event.c         the event MPM's data of a connection
 *
 *   mod_mcp_handler.c        a client's request, and its access rules
 *   mod_mcp_error_headers.c  headers of error responses at endpoints
 *   mod_mcp_document.c       metadata documents, below /.well-known/
 *   mod_mcp_request.c        the module's data of a request
 *   mod_mcp_body.c           reading a request's body
 *   mod_mcp_response.c       writing a response
 *   mod_mcp_stream.c         writing a stream
 *   mod_mcp_stream_filter.c  writing a stream to the socket
 *   mod_mcp_client.c         a client and its states
 *   mod_mcp_connection.c     the thread of a client, and suspension
 *   mod_mcp_filter.c         detects output filters that might block
 *   mod_mcp_map.c            requests that are not mapped to files
 *   mod_mcp_secret.c         hiding the secrets of URLs from logs
 *   mod_mcp_note.c           notes and environment: %{mcp-...}n, MCP_*
 *   mod_mcp_status.c         the status page, and a line for mod_status
 *
 *   mod_mcp_backend_threads.c  the threads that run backend requests
 *   mod_mcp_snapshot.c         copies of clients' requests; reusable pools
 *   mod_mcp_fetch.c            the internal request to a backend
 *   mod_mcp_proxy.c            ending a backend request while it waits
 *   mod_mcp_tls.c              TLS of the client, as backends see it
 */

#ifndef MOD_MCP_H
#define MOD_MCP_H

#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"

#include "mcp.h"

extern module AP_MODULE_DECLARE_DATA mcp_module;
APLOG_USE_MODULE(mcp);

typedef struct mod_mcp_client_t mod_mcp_client_t;
typedef struct mod_mcp_cluster_conf_t mod_mcp_cluster_conf_t;
typedef struct mod_mcp_cond_t mod_mcp_cond_t;
typedef struct mod_mcp_dir_t mod_mcp_dir_t;
typedef struct mod_mcp_event_t mod_mcp_event_t;
typedef struct mod_mcp_backend_request_t mod_mcp_backend_request_t;
typedef struct mod_mcp_snapshot_t mod_mcp_snapshot_t;

static APR_INLINE mcp_str_t mod_mcp_str(const char *s)
{
    mcp_str_t str;

    str.data = s;
    str.len = s ? strlen(s) : 0;

    return str;
}

#endif /* MOD_MCP_H */
