/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The client of a request. Clients of revisions with sessions describe
 * themselves once, in initialize; the session token of their later requests
 * contains the description (mcp_session.h). Clients of stateless revisions
 * describe themselves in the _meta of each request.
 */


#ifndef MCP_CLIENT_H_INCLUDED
#define MCP_CLIENT_H_INCLUDED


#include "mcp_variable.h"
#include "base/mcp_token.h"
#include "http/mcp_sse.h"
#include "json/mcp_json_scan.h"
#include "rpc/mcp_revision.h"


/* The bits of mcp_client_t.capabilities: the capabilities that a client
 * declares, and two that the endpoint sets. */
#define MCP_CLIENT_SAMPLING         0x0001
#define MCP_CLIENT_ELICITATION      0x0002     /* form mode */
#define MCP_CLIENT_ELICITATION_URL  0x0004
#define MCP_CLIENT_ROOTS            0x0008
#define MCP_CLIENT_SAMPLING_TOOLS   0x0010
#define MCP_CLIENT_REQUESTS         0x0020     /* declared by the name
                                                  "resumableRequests" */
#define MCP_CLIENT_STREAMS          0x0040
#define MCP_CLIENT_TOKENS           0x0080     /* declared by the name
                                                  "resumeTokens" */

#define MCP_CLIENT_LINKS            0x0100     /* not declared by clients;
                                                  set if the endpoint has
                                                  stream URLs */
#define MCP_CLIENT_TASKS            0x0200     /* an extension, only in
                                                  stateless revisions */
#define MCP_CLIENT_SAMPLING_CONTEXT 0x0400
#define MCP_CLIENT_IDS              0x0800     /* not declared by clients;
                                                  set if the endpoint sends
                                                  event ids to all clients
                                                  of stateless revisions */

/*
 * The name of the tasks extension, and error.data for a client that did not
 * declare it.
 */
#define MCP_CLIENT_TASKS_NAME      "io.modelcontextprotocol/tasks"
#define MCP_CLIENT_TASKS_REQUIRED                                             \
    "{\"requiredCapabilities\":{\"extensions\":{\"" MCP_CLIENT_TASKS_NAME     \
    "\":{}}}}"

/* The capabilities that let the server send questions to the client: sampling,
 * elicitation and roots, with their variants. */
#define MCP_CLIENT_INPUT            0x041f


typedef struct {
    unsigned char   id[MCP_DIGEST_LEN];        /* random id of the client's
                                                  session, its key in the
                                                  store; zeros: no session */
    char            id_text[MCP_STREAM_TEXT_LEN];  /* text form of id, for a
                                                      client with a session */
    unsigned char   principal[MCP_DIGEST_LEN]; /* digest of the principal's
                                                  name; zeros: none */
    uint64_t        expires;                   /* time when the session
                                                  expires, ms of
                                                  mcp_env_t.now */
    mcp_revision_e  revision;
    unsigned        capabilities;              /* MCP_CLIENT_... */
    unsigned        has_session:1;
    int             log_level;                 /* minimum level of log messages
                                                  that a request without a
                                                  session asks for; -1: no
                                                  messages */
    mcp_str_t       declared;                  /* declared capabilities, raw
                                                  JSON. Empty for a client with
                                                  a session: its token has only
                                                  the bits in "capabilities" */
} mcp_client_t;


/* Returns 1 if the client's revision is stateless. */
#define mcp_client_is_stateless(client)                                       \
    (mcp_revision((client)->revision)->stateless)

/* Returns the MCP_CLIENT_... bits of a ClientCapabilities object, which may be
 * NULL. */
unsigned mcp_client_capabilities(const mcp_json_value_t *capabilities);

/*
 * Sets *bits to the bits of the extensions in a ClientCapabilities object.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  "extensions" or the tasks extension occurs twice, or under
 *                   a name that some JSON parsers take for it
 *                   (mcp_json_alike())
 */
int mcp_client_extensions(const mcp_json_value_t *capabilities,
    unsigned *bits);

/*
 * Computes the digest of a principal's name, all zeros for an empty name.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_principal(mcp_str_t name, unsigned char out[MCP_DIGEST_LEN]);

/*
 * Sets the variables about the client's session; their values are borrowed
 * from the client.
 */
void mcp_client_session_variables(const mcp_client_t *client,
    mcp_variables_t *variables);


#endif /* MCP_CLIENT_H_INCLUDED */
