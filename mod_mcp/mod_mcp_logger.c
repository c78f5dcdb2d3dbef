/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The thread that logs the requests of suspended clients.  Logging may block,
 * on a piped log program or a name server, and the event loop must not block.
 */

#include "mod_mcp_event_loop.h"

#include "mod_mcp_child.h"
#include "mod_mcp_client.h"
#include "mod_mcp_worker.h"

static apr_thread_t *thread;            /* NULL if the MPM cannot suspend
                                           connections */

/* mod_mcp_lock() protects all variables below */
static mod_mcp_client_t *queue_head, **queue_tail = &queue_head;
static mod_mcp_cond_t *work;
static int ended;

void mod_mcp_logger_queue(mod_mcp_client_t *client)
{
    mod_mcp_client_set_state(client, MOD_MCP_LOGGING);
    client->next = NULL;
    *queue_tail = client;
    queue_tail = &client->next;

    mod_mcp_signal(work);
}

static mod_mcp_client_t *next_client(void)
{
    mod_mcp_client_t *client = queue_head;

    if (client) {
        queue_head = client->next;

        if (queue_head == NULL) {
            queue_tail = &queue_head;
        }
    }

    return client;
}

/*
 * Logs and frees the client's request. httpd does both when it destroys the
 * end-of-request bucket.
 */
static void log_request(mod_mcp_client_t *client)
{
    client->c->current_thread = ap_thread_current();

    ap_process_request_after_handler(client->r);

    client->c->current_thread = mod_mcp_event_loop_thread();
    client->c->cs->state = CONN_STATE_SUSPENDED;
}

static void *APR_THREAD_FUNC logger(apr_thread_t *self, void *data)
{
    mod_mcp_client_t *client;

    mod_mcp_lock();

    for ( ;; ) {
        client = next_client();

        if (client) {
            mod_mcp_unlock();
            log_request(client);
            mod_mcp_lock();

            mod_mcp_client_set_state(client, MOD_MCP_CLOSING);
            client->todo = 0;
            mod_mcp_event_loop_queue(client);
        }
        else if (ended) {
            break;
        }
        else {
            mod_mcp_wait(work, 0);
        }
    }

    mod_mcp_unlock();

    return NULL;
}

apr_status_t mod_mcp_logger_start(apr_pool_t *pchild)
{
    thread = NULL;
    ended = 0;

    if (!mod_mcp_child.async) {
        return APR_SUCCESS;
    }

    work = mod_mcp_cond(pchild);

    return work ? mod_mcp_child_thread(&thread, NULL, logger, pchild)
                : APR_ENOMEM;
}

void mod_mcp_logger_stop(void)
{
    apr_status_t rv;

    if (thread == NULL) {
        return;
    }

    mod_mcp_lock();
    ended = 1;
    mod_mcp_signal(work);
    mod_mcp_unlock();

    apr_thread_join(&rv, thread);
}
