/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ends a backend request of mod_proxy while its backend is silent.
 *
 * A proxy handler waits for its backend up to ProxyTimeout, and does not
 * expose its connection.  But the handlers for HTTP, HTTPS, HTTP/2 and uwsgi
 * read through filters of a conn_rec, for which httpd runs the hook
 * pre_connection.  This file adds two filters there.  While the handler's
 * thread is in one of them, the socket is available to the action ABORT, which
 * shuts it down.  The handler cannot close its socket meanwhile.
 *
 * The handlers for FastCGI, SCGI and AJP read from their sockets without
 * filters.  Their backend requests end at the next output of the backend, or
 * at the timeout.
 */

#include "mod_mcp_fetch.h"

#include "mod_mcp_worker.h"

#include "http_connection.h"
#include "util_filter.h"

static ap_filter_rec_t *input_filter, *output_filter;

static apr_socket_t *take_socket(mod_mcp_backend_request_t *req)
{
    return __atomic_exchange_n(&req->socket, NULL, __ATOMIC_SEQ_CST);
}

/*
 * Takes the socket to the backend and shuts it down.  Both the action ABORT and
 * the thread that runs the backend request take the socket; the later one finds
 * none, and does nothing.
 */
static void shut(mod_mcp_backend_request_t *req)
{
    apr_socket_t *socket = take_socket(req);

    if (socket) {
        apr_socket_shutdown(socket, APR_SHUTDOWN_READWRITE);
    }
}

void mod_mcp_proxy_abort(mod_mcp_backend_request_t *req)
{
    __atomic_store_n(&req->aborted, 1, __ATOMIC_SEQ_CST);
    shut(req);
}

int mod_mcp_proxy_is_aborted(mod_mcp_backend_request_t *req)
{
    return __atomic_load_n(&req->aborted, __ATOMIC_SEQ_CST);
}

void mod_mcp_proxy_spare(request_rec *r)
{
    for ( ; r; r = r->next) {
        apr_table_setn(r->notes, "proxy-error-override", "1");
    }
}

/*
 * Makes the socket available to the action ABORT, without mod_mcp_lock().  If
 * ABORT was carried out earlier and so did not find the socket, this function
 * shuts the socket down.  Returns the backend request that the current thread
 * runs, or NULL.
 */
static mod_mcp_backend_request_t *enter(conn_rec *c)
{
    mod_mcp_backend_request_t *req = mod_mcp_fetch_current();

    if (req) {
        __atomic_store_n(&req->socket, ap_get_conn_socket(c),
                         __ATOMIC_SEQ_CST);

        if (mod_mcp_proxy_is_aborted(req)) {
            shut(req);
        }
    }

    return req;
}

/*
 * Silences the log of the internal request, because mod_proxy would log the
 * end of its connection to the backend as an error of the backend.
 */
static void silence(request_rec *r)
{
    struct ap_logconf *log = ap_new_log_config(r->pool, NULL);

    log->level = APLOG_EMERG;
    ap_reset_module_loglevels(log, APLOG_NO_MODULE);

    for ( ; r; r = r->next) {
        r->log = log;
    }
}

/*
 * Takes the socket back, so that ABORT cannot find it.  If ABORT has taken it,
 * waits until ABORT has finished with the socket, and ends the connection.
 */
static apr_status_t leave(mod_mcp_backend_request_t *req, conn_rec *c,
    apr_status_t rv)
{
    if (req == NULL || take_socket(req)) {
        return rv;
    }

    if (mod_mcp_lock_ready()) {
        mod_mcp_unlock();
    }

    silence(req->r);
    mod_mcp_proxy_spare(req->r);
    c->aborted = 1;

    return APR_ECONNABORTED;
}

static apr_status_t input(ap_filter_t *f, apr_bucket_brigade *bb,
                          ap_input_mode_t mode, apr_read_type_e block,
                          apr_off_t readbytes)
{
    mod_mcp_backend_request_t *req = enter(f->c);

    return leave(req, f->c, ap_get_brigade(f->next, bb, mode, block,
                                           readbytes));
}

static apr_status_t output(ap_filter_t *f, apr_bucket_brigade *bb)
{
    mod_mcp_backend_request_t *req = enter(f->c);

    return leave(req, f->c, ap_pass_brigade(f->next, bb));
}

/*
 * Hook pre_connection.  Adds the filters to each connection to a backend,
 * because mod_proxy reuses connections, and a call may get a connection that
 * another request has opened.
 */
static int add_filters(conn_rec *c, void *csd)
{
    if (c->outgoing) {
        ap_add_input_filter_handle(input_filter, NULL, NULL, c);
        ap_add_output_filter_handle(output_filter, NULL, NULL, c);
    }

    return OK;
}

void mod_mcp_proxy_register(void)
{
    /* register the filters outside of mod_ssl's filters, so that ABORT can also
     * end TLS handshakes */

    input_filter = ap_register_input_filter("MCP_PROXY_INPUT", input, NULL,
                                            AP_FTYPE_CONNECTION);
    output_filter = ap_register_output_filter("MCP_PROXY_OUTPUT", output,
                                              NULL, AP_FTYPE_CONNECTION);

    ap_hook_pre_connection(add_filters, NULL, NULL, APR_HOOK_MIDDLE);
}
