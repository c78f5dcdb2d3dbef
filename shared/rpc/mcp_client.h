/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who asks.  Clients of session revisions say it once, in initialize, and their
 * session token brings it with each request (mcp_session.h); clients of
 * stateless revisions say it in the _meta of each request.
 */


#ifndef MCP_CLIENT_H_INCLUDED
#define MCP_CLIENT_H_INCLUDED


#include "base/mcp_token.h"
#include "http/mcp_event_id.h"
#include "json/mcp_json.h"
#include "mcp_fact.h"
#include "rpc/mcp_revision.h"


/* Capabilities that a client declares. */
#define MCP_CLIENT_SAMPLING         0x0001
#define MCP_CLIENT_ELICITATION      0x0002     /* form mode */
#define MCP_CLIENT_ELICITATION_URL  0x0004
#define MCP_CLIENT_ROOTS            0x0008
#define MCP_CLIENT_SAMPLING_TOOLS   0x0010
#define MCP_CLIENT_REQUESTS         0x0020     /* resumableRequests */
#define MCP_CLIENT_STREAMS          0x0040
#define MCP_CLIENT_TOKENS           0x0080     /* resumeTokens */

#define MCP_CLIENT_LINKS            0x0100     /* nobody declares it: the
                                                  endpoint has stream URLs */
#define MCP_CLIENT_TASKS            0x0200     /* an extension: of stateless
                                                  revisions alone */
#define MCP_CLIENT_SAMPLING_CONTEXT 0x0400

/* Its name, and what a client that did not declare it is told. */
#define MCP_CLIENT_TASKS_NAME      "io.modelcontextprotocol/tasks"
#define MCP_CLIENT_TASKS_REQUIRED                                            \
    "{\"requiredCapabilities\":{\"extensions\":{\"" MCP_CLIENT_TASKS_NAME   \
    "\":{}}}}"

/* The capabilities about input; the others are for faces. */
#define MCP_CLIENT_INPUT            0x041f


typedef struct {
    unsigned char   id[MCP_DIGEST_LEN];        /* of its session, random: the
                                                  store's key; zeros: none */
    char            id_text[MCP_STREAM_TEXT_LEN];  /* that, of a client that
                                                  has a session */
    unsigned char   principal[MCP_DIGEST_LEN]; /* digest; zeros: none */
    uint64_t        expires;                   /* of its session, ms of
                                                  mcp_env_t.now */
    mcp_revision_e  revision;
    unsigned        capabilities;              /* MCP_CLIENT_... */
    unsigned        has_session:1;
    int             log_level;                 /* of a request without a
                                                  session; -1: none */
    mcp_str_t       declared;                  /* its capabilities as they
                                                  came, raw; empty: a session,
                                                  which keeps the bits alone */
} mcp_client_t;


/* Returns 1 if the client's revision is a stateless one. */
#define mcp_client_is_stateless(client)                                      \
    (mcp_revision((client)->revision)->stateless)

/* Returns the MCP_CLIENT_... bits of a ClientCapabilities object, which may be
 * NULL. */
unsigned mcp_client_capabilities(const mcp_json_value_t *capabilities);

/* Returns those of a ClientCapabilities object that are extensions. */
unsigned mcp_client_extensions(const mcp_json_value_t *capabilities);

/*
 * Computes the digest of a principal's name; an empty name has zeros.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_principal(mcp_str_t name, unsigned char out[MCP_DIGEST_LEN]);

/* Sets the facts about the session that the client has; they are parts of the
 * client. */
void mcp_client_session_facts(const mcp_client_t *client, mcp_facts_t *facts);


#endif /* MCP_CLIENT_H_INCLUDED */
