/* SPDX-License-Identifier: Apache-2.0 */

/* Waking other processes, and being woken. */


#include "ngx_http_mcp_bell.h"

#include "ngx_http_mcp_connection.h"

#include <sys/eventfd.h>
#include <sys/resource.h>


/* as many processes as old and new generations may have before polling is all
 * that wakes the rest */
#define NGX_HTTP_MCP_BELL_MIN   64

/* bells may take one in so many of the master's descriptors: it needs two for
 * each worker, and those of listening sockets and files */
#define NGX_HTTP_MCP_BELL_PART  4


static ngx_uint_t ngx_http_mcp_bell_wanted(ngx_cycle_t *cycle);


/* of the process, not of a cycle: they outlive reloads */

static ngx_fd_t    ngx_http_mcp_bells[NGX_MAX_PROCESSES];
static ngx_uint_t  ngx_http_mcp_n_bells;


void
ngx_http_mcp_bell_create(ngx_cycle_t *cycle)
{
    ngx_fd_t    fd;
    ngx_uint_t  n;

    n = ngx_http_mcp_bell_wanted(cycle);

    while (ngx_http_mcp_n_bells < n) {
        fd = eventfd(0, EFD_NONBLOCK|EFD_CLOEXEC);

        if (fd == -1) {
            ngx_log_error(NGX_LOG_ERR, cycle->log, ngx_errno,
                          "eventfd() failed: %ui of %ui processes can be "
                          "woken, others look every %d ms",
                          ngx_http_mcp_n_bells, n, NGX_HTTP_MCP_BELL_POLL);
            return;
        }

        ngx_http_mcp_bells[ngx_http_mcp_n_bells++] = fd;
    }
}


static ngx_uint_t
ngx_http_mcp_bell_wanted(ngx_cycle_t *cycle)
{
    ngx_uint_t        n, workers;
    struct rlimit     rlmt;
    ngx_core_conf_t  *ccf;

    /* a slot is free again once its process is gone; while a generation winds
     * up the next one has its own slots */

    ccf = (ngx_core_conf_t *) ngx_get_conf(cycle->conf_ctx, ngx_core_module);
    workers = ccf->worker_processes;

    n = 4 * workers;
    n = ngx_max(n, NGX_HTTP_MCP_BELL_MIN);
    n = ngx_min(n, NGX_MAX_PROCESSES);

    if (getrlimit(RLIMIT_NOFILE, &rlmt) == 0
        && rlmt.rlim_cur / NGX_HTTP_MCP_BELL_PART < n)
    {
        n = rlmt.rlim_cur / NGX_HTTP_MCP_BELL_PART;

        if (n < workers) {
            ngx_log_error(NGX_LOG_WARN, cycle->log, 0,
                          "the limit of open files lets only %ui of %ui "
                          "workers be woken, others look every %d ms",
                          n, workers, NGX_HTTP_MCP_BELL_POLL);
        }
    }

    return n;
}


ngx_uint_t
ngx_http_mcp_bell_is_ours(void)
{
    return (ngx_uint_t) ngx_process_slot < ngx_http_mcp_n_bells;
}


ngx_uint_t
ngx_http_mcp_bell_slots(void)
{
    ngx_uint_t  n;

    n = 4 * ngx_max(ngx_http_mcp_n_bells, NGX_HTTP_MCP_BELL_MIN);

    return ngx_min(n, NGX_MAX_PROCESSES);
}


void
ngx_http_mcp_bell_ring(ngx_uint_t slot, ngx_log_t *log)
{
    uint64_t  one;

    if (slot >= ngx_http_mcp_n_bells) {
        return;
    }

    one = 1;

    /* EAGAIN: it has been ringing for ages */

    if (write(ngx_http_mcp_bells[slot], &one, sizeof(one)) == -1
        && ngx_errno != NGX_EAGAIN)
    {
        ngx_log_error(NGX_LOG_ALERT, log, ngx_errno,
                      "write() to the eventfd of process slot %ui failed",
                      slot);
    }
}


ngx_int_t
ngx_http_mcp_bell_listen(ngx_cycle_t *cycle, ngx_event_handler_pt handler)
{
    ngx_uint_t         rings;
    ngx_connection_t  *c;

    rings = ngx_http_mcp_bell_is_ours();

    c = rings ? ngx_get_connection(ngx_http_mcp_bells[ngx_process_slot],
                                   cycle->log)
              : ngx_http_mcp_connection_dummy(cycle->log);

    if (c == NULL) {
        return NGX_ERROR;
    }

    c->data = cycle;
    c->log = cycle->log;
    c->read->log = cycle->log;
    c->write->log = cycle->log;

    /* channel: no leak when the process ends; idle: the handler is called, with
     * c->close, when the process begins to wind up */

    c->read->channel = 1;
    c->write->channel = 1;
    c->idle = 1;

    c->read->handler = handler;

    return rings ? ngx_add_event(c->read, NGX_READ_EVENT, 0) : NGX_OK;
}


void
ngx_http_mcp_bell_silence(ngx_connection_t *c)
{
    uint64_t  count;

    if (read(c->fd, &count, sizeof(count)) == -1 && ngx_errno != NGX_EAGAIN) {
        ngx_log_error(NGX_LOG_ALERT, c->log, ngx_errno,
                      "read() from eventfd failed");
    }
}
