/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The configuration of a cluster as an operator wrote it: where Redis is, who
 * we are there, and how patient.  The glue knows the names of directives, reads
 * files and provides memory.
 */


#ifndef MCP_CLUSTER_CONF_H_INCLUDED
#define MCP_CLUSTER_CONF_H_INCLUDED


#include "mcp_setup.h"


#define MCP_CLUSTER_SEEDS         16
#define MCP_CLUSTER_PASSWORD_MAX  1024         /* bytes of its file */
#define MCP_CLUSTER_REPLICAS_MAX  15


/* A server to begin with: Redis, or a Sentinel. */
typedef struct {
    mcp_str_t           host;          /* name or address; empty: path */
    mcp_str_t           path;          /* of a Unix socket */
    unsigned            port;
    unsigned            tls:1;
} mcp_cluster_seed_t;


typedef enum {
    MCP_CLUSTER_SYNC_OFF = 0,
    MCP_CLUSTER_SYNC_ON
} mcp_cluster_sync_e;


typedef struct {
    mcp_cluster_seed_t  seeds[MCP_CLUSTER_SEEDS];
    size_t              n_seeds;       /* at least one */
    mcp_str_t           sentinel;      /* name of the master; empty: none */
    mcp_str_t           prefix;        /* of all keys, with its hash tag */
    mcp_str_t           user;          /* empty: the default one */
    mcp_str_t           password;      /* empty: no AUTH */
    mcp_str_t           label;         /* of this node; may be empty */
    unsigned            db;
    mcp_cluster_sync_e  sync;
    unsigned            replicas;      /* that have a write; 0: do not ask */
    uint64_t            timeout;       /* ms, like the next two */
    uint64_t            patience;
    uint64_t            dead_after;

    /* TLS, for the glue: names of files; empty: the system's, none */
    mcp_str_t           tls_ca;
    mcp_str_t           tls_certificate;
    mcp_str_t           tls_certificate_key;
    mcp_str_t           tls_server_name;       /* empty: the seed's host */
    unsigned            tls:1;         /* some seed wants it */
    unsigned            tls_verify:1;
} mcp_cluster_conf_t;


/* Directives with one value: id, nginx's name, Apache's name, help. */
#define MCP_CLUSTER_OPTIONS(X)                                                \
    X(TIMEOUT, "mcp_cluster_timeout", "MCPClusterTimeout",                    \
      "how long Redis may take to answer")                                    \
    X(PATIENCE, "mcp_cluster_patience", "MCPClusterPatience",                 \
      "how long calls are accepted without Redis")                            \
    X(DEAD_AFTER, "mcp_cluster_dead_after", "MCPClusterDeadAfter",            \
      "how long a node may be silent")                                        \
    X(CA, "mcp_cluster_ca", "MCPClusterCA",                                   \
      "file with the authorities that Redis's certificate may have")          \
    X(CERTIFICATE, "mcp_cluster_certificate", "MCPClusterCertificate",        \
      "file with the certificate that Redis is shown")                        \
    X(CERTIFICATE_KEY, "mcp_cluster_certificate_key",                         \
      "MCPClusterCertificateKey", "file with its key")                        \
    X(VERIFY, "mcp_cluster_verify", "MCPClusterVerify",                       \
      "on or off: whether Redis's certificate is verified")                   \
    X(SERVER_NAME, "mcp_cluster_server_name", "MCPClusterServerName",         \
      "name that Redis's certificate has")

#define MCP_CLUSTER_OPTION_ID(id, nginx, apache, help)  MCP_CLUSTER_##id,

typedef enum {
    MCP_CLUSTER_OPTIONS(MCP_CLUSTER_OPTION_ID)
    MCP_CLUSTER_OPTION_COUNT
} mcp_cluster_option_e;


typedef struct mcp_cluster_setup_s  mcp_cluster_setup_t;


/* Returns a setup in which nothing is set, or NULL when out of memory.  mem
 * outlives it. */
mcp_cluster_setup_t *mcp_cluster_setup_create(const mcp_mem_t *mem);
void mcp_cluster_setup_free(mcp_cluster_setup_t *setup);


/*
 * The functions from here to mcp_cluster_setup_sync() take what a directive
 * says, and copy it.  They return MCP_OK, or
 *   MCP_ERR_CONFIG  error (MCP_SETUP_ERROR_MAX bytes) says why, see
 *                   mcp_setup.h; MCP_SETUP_DUPLICATE continues the directive's
 *                   name
 *   MCP_ERR_MEMORY
 */

/* The words of mcp_cluster begin. */
int mcp_cluster_setup_begin(mcp_cluster_setup_t *setup, char *error);

/*
 * One of them: "redis://[user@]host[:port][/db]", "rediss://" likewise,
 * "unix:/path", or a parameter "name=value".  *file becomes the name of a file
 * that the glue has to read for mcp_cluster_setup_password() now; empty: none.
 */
int mcp_cluster_setup_word(mcp_cluster_setup_t *setup, mcp_str_t word,
    mcp_str_t *file, char *error);

/* The contents of that file; a line's end behind the password is dropped. */
int mcp_cluster_setup_password(mcp_cluster_setup_t *setup, mcp_str_t file,
    mcp_str_t contents, char *error);

int mcp_cluster_setup_option(mcp_cluster_setup_t *setup,
    mcp_cluster_option_e option, mcp_str_t text, char *error);

/* Returns 1 if the option is the name of a file, which the glue completes. */
int mcp_cluster_option_is_file(mcp_cluster_option_e option);

/* "on", or "off"; replicas: "replicas=2", or .data is NULL. */
int mcp_cluster_setup_sync(mcp_cluster_setup_t *setup, mcp_str_t text,
    mcp_str_t replicas, char *error);


/* Takes from parent everything but the words that setup does not set, and
 * borrows its text. */
void mcp_cluster_setup_merge(mcp_cluster_setup_t *setup,
    const mcp_cluster_setup_t *parent);

/* Returns 1 if the words of mcp_cluster were said. */
int mcp_cluster_setup_has_words(const mcp_cluster_setup_t *setup);

/* Returns the nginx or Apache name of an option that was said, NULL if there is
 * none: for an error about options without a cluster. */
const char *mcp_cluster_setup_said(const mcp_cluster_setup_t *setup,
    int apache);

/*
 * Checks what was said as a whole, and sets *conf, which lives as long as the
 * setup and the one it was merged from.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  error says why
 *   MCP_ERR_MEMORY
 */
int mcp_cluster_setup_finish(mcp_cluster_setup_t *setup,
    const mcp_cluster_conf_t **conf, char *error);

/* Returns 1 if some server is reached over TCP, not at a loopback address, and
 * no password is set: whoever reaches it can read and forge messages. */
int mcp_cluster_conf_is_open(const mcp_cluster_conf_t *conf);


#endif /* MCP_CLUSTER_CONF_H_INCLUDED */
