/* SPDX-License-Identifier: Apache-2.0 */

/* What other nodes of the cluster have told us. */


#ifndef MCP_HEARD_H_INCLUDED
#define MCP_HEARD_H_INCLUDED


#include "worker/mcp_ask.h"


/*
 * Does here what has been done there: ends a session, sets its log level,
 * cancels a request, notifies subscribers.  It may be told several times, and
 * comes from outside: what it does not know it ignores.  Nobody pays for the
 * room.
 */
void mcp_heard(mcp_worker_t *worker, const mcp_word_t *word);


#endif /* MCP_HEARD_H_INCLUDED */
