/* SPDX-License-Identifier: Apache-2.0 */

/*
 * For measurements: the handler "fixed" reads the request's body and answers
 * with the same JSON each time, and X-Worker in every response names the child
 * that sent it.  The handler "mark" calls a function that callgrind waits for.
 */

#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"

#include "apr_strings.h"

#include <unistd.h>

static const char answer[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";

static const char *worker;

void fixed_mark(void);

__attribute__((noinline)) void fixed_mark(void)
{
    __asm__ volatile("");
}

static int fixed_handler(request_rec *r)
{
    char buf[8192];
    int rc;

    if (strcmp(r->handler, "mark") == 0) {
        fixed_mark();
        ap_set_content_length(r, 0);
        return OK;
    }

    if (strcmp(r->handler, "fixed") != 0) {
        return DECLINED;
    }

    rc = ap_setup_client_block(r, REQUEST_CHUNKED_DECHUNK);
    if (rc != OK) {
        return rc;
    }

    if (ap_should_client_block(r)) {
        while (ap_get_client_block(r, buf, sizeof(buf)) > 0) {
            /* discard the body */
        }
    }

    ap_set_content_type(r, "application/json");
    ap_set_content_length(r, sizeof(answer) - 1);
    ap_rwrite(answer, sizeof(answer) - 1, r);

    return OK;
}

static int fixed_worker(request_rec *r)
{
    apr_table_setn(r->headers_out, "X-Worker", worker);
    return DECLINED;
}

static void fixed_child(apr_pool_t *pchild, server_rec *s)
{
    worker = apr_psprintf(pchild, "%" APR_PID_T_FMT, getpid());
}

static void register_hooks(apr_pool_t *p)
{
    ap_hook_handler(fixed_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(fixed_worker, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(fixed_child, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(fixed) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, register_hooks, 0
};
