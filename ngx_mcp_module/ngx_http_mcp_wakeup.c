/* SPDX-License-Identifier: Apache-2.0 */

/* Wake-ups between processes. */


#include "ngx_http_mcp_wakeup.h"

#include "ngx_http_mcp_connection.h"

#include <sys/eventfd.h>
#include <sys/resource.h>


/*
 * minimum number of eventfds, enough for the processes of old and new
 * configurations together; fewer if the limit of open files is low.  A process
 * without an eventfd polls its zones.
 */
#define NGX_HTTP_MCP_WAKEUP_MIN  64

/*
 * eventfds may take 1/4 of the master's file descriptors, because nginx needs
 * two descriptors for each worker, and others for listening sockets and files
 */
#define NGX_HTTP_MCP_WAKEUP_PART  4


static ngx_uint_t ngx_http_mcp_wakeup_wanted(ngx_cycle_t *cycle);


/* the eventfds belong to the process, not to a cycle: they survive reloads */

static ngx_fd_t    ngx_http_mcp_wakeups[NGX_MAX_PROCESSES];
static ngx_uint_t  ngx_http_mcp_n_wakeups;


void
ngx_http_mcp_wakeup_create(ngx_cycle_t *cycle)
{
    ngx_fd_t    fd;
    ngx_uint_t  n;

    n = ngx_http_mcp_wakeup_wanted(cycle);

    while (ngx_http_mcp_n_wakeups < n) {
        fd = eventfd(0, EFD_NONBLOCK|EFD_CLOEXEC);

        if (fd == -1) {
            ngx_log_error(NGX_LOG_ERR, cycle->log, ngx_errno,
                          "eventfd() failed: %ui of %ui processes can be "
                          "woken, the others poll every %d ms",
                          ngx_http_mcp_n_wakeups, n, NGX_HTTP_MCP_WAKEUP_POLL);
            return;
        }

        ngx_http_mcp_wakeups[ngx_http_mcp_n_wakeups++] = fd;
    }
}


static ngx_uint_t
ngx_http_mcp_wakeup_wanted(ngx_cycle_t *cycle)
{
    ngx_uint_t        n, workers;
    struct rlimit     rlmt;
    ngx_core_conf_t  *ccf;

    /* four slots for each worker: after a reload the old processes keep their
     * slots until they end, and the new processes need further slots */

    ccf = (ngx_core_conf_t *) ngx_get_conf(cycle->conf_ctx, ngx_core_module);
    workers = ccf->worker_processes;

    n = 4 * workers;
    n = ngx_max(n, NGX_HTTP_MCP_WAKEUP_MIN);
    n = ngx_min(n, NGX_MAX_PROCESSES);

    if (getrlimit(RLIMIT_NOFILE, &rlmt) == 0
        && rlmt.rlim_cur / NGX_HTTP_MCP_WAKEUP_PART < n)
    {
        n = rlmt.rlim_cur / NGX_HTTP_MCP_WAKEUP_PART;

        if (n < workers) {
            ngx_log_error(NGX_LOG_WARN, cycle->log, 0,
                          "the limit of open files lets only %ui of %ui "
                          "workers be woken, the others poll every %d ms: "
                          "raise \"worker_rlimit_nofile\"",
                          n, workers, NGX_HTTP_MCP_WAKEUP_POLL);
        }
    }

    return n;
}


ngx_uint_t
ngx_http_mcp_wakeup_is_ours(void)
{
    return (ngx_uint_t) ngx_process_slot < ngx_http_mcp_n_wakeups;
}


ngx_uint_t
ngx_http_mcp_wakeup_slots(void)
{
    ngx_uint_t  n;

    n = 4 * ngx_max(ngx_http_mcp_n_wakeups, NGX_HTTP_MCP_WAKEUP_MIN);

    return ngx_min(n, NGX_MAX_PROCESSES);
}


void
ngx_http_mcp_wakeup_send(ngx_uint_t slot, ngx_log_t *log)
{
    uint64_t  one;

    if (slot >= ngx_http_mcp_n_wakeups) {
        return;
    }

    one = 1;

    /* EAGAIN: the counter of the eventfd is full, a wake-up is already
     * pending */

    if (write(ngx_http_mcp_wakeups[slot], &one, sizeof(one)) == -1
        && ngx_errno != NGX_EAGAIN)
    {
        ngx_log_error(NGX_LOG_ALERT, log, ngx_errno,
                      "write() to the eventfd of process slot %ui failed: "
                      "another process was not woken",
                      slot);
    }
}


ngx_int_t
ngx_http_mcp_wakeup_listen(ngx_cycle_t *cycle, ngx_event_handler_pt handler)
{
    ngx_uint_t         rings;
    ngx_connection_t  *c;

    rings = ngx_http_mcp_wakeup_is_ours();

    c = rings ? ngx_get_connection(ngx_http_mcp_wakeups[ngx_process_slot],
                                   cycle->log)
              : ngx_http_mcp_connection_dummy(cycle->log);

    if (c == NULL) {
        return NGX_ERROR;
    }

    c->data = cycle;
    c->log = cycle->log;
    c->read->log = cycle->log;
    c->write->log = cycle->log;

    /* set "channel", so that nginx reports no leak of the connection when the
     * process ends, and "idle", so that nginx calls the handler, with c->close
     * set to 1, when the process starts to shut down */

    c->read->channel = 1;
    c->write->channel = 1;
    c->idle = 1;

    c->read->handler = handler;

    return rings ? ngx_add_event(c->read, NGX_READ_EVENT, 0) : NGX_OK;
}


void
ngx_http_mcp_wakeup_silence(ngx_connection_t *c)
{
    uint64_t  count;

    if (read(c->fd, &count, sizeof(count)) == -1 && ngx_errno != NGX_EAGAIN) {
        ngx_log_error(NGX_LOG_ALERT, c->log, ngx_errno,
                      "read() from eventfd failed");
    }
}
