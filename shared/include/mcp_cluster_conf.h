/* SPDX-License-Identifier: Apache-2.0 */

/* The configuration of a cluster: the addresses of Redis, the node's name and
 * the timeouts. The glue registers the directives, reads files and provides
 * memory. */


#ifndef MCP_CLUSTER_CONF_H_INCLUDED
#define MCP_CLUSTER_CONF_H_INCLUDED


#include "mcp_setup_directive.h"


MCP_DECLARATIONS_BEGIN


#define MCP_CLUSTER_SEEDS         16
#define MCP_CLUSTER_PASSWORD_MAX  1024         /* maximum size of a password
                                                  file */
#define MCP_CLUSTER_REPLICAS_MAX  15


/* A configured server, a Redis or a Sentinel, to which a node connects
 * first. */
typedef struct {
    mcp_str_t           host;          /* host name or address; empty: the
                                          server is at the Unix socket "path" */
    mcp_str_t           path;          /* path of a Unix socket */
    unsigned            port;
    unsigned            tls:1;
} mcp_cluster_seed_t;


typedef enum {
    MCP_CLUSTER_SYNC_OFF = 0,
    MCP_CLUSTER_SYNC_ON
} mcp_cluster_sync_e;


typedef struct {
    mcp_cluster_seed_t  seeds[MCP_CLUSTER_SEEDS];
    size_t              n_seeds;       /* number of seeds, at least one */
    mcp_str_t           sentinel;      /* name of the master at the Sentinels;
                                          empty: the seeds are not Sentinels */
    mcp_str_t           sentinel_user; /* user name at the Sentinels; empty: the
                                          user "default" */
    mcp_str_t           sentinel_password;     /* password for sentinel_user;
                                                  empty: no AUTH command is
                                                  sent */
    mcp_str_t           prefix;        /* prefix of all keys, including its hash
                                          tag */
    mcp_str_t           user;          /* user name at Redis; empty: the user
                                          "default" */
    mcp_str_t           password;      /* password at Redis; empty: no AUTH
                                          command is sent */
    mcp_str_t           label;         /* name of this node; may be empty */
    unsigned            db;
    mcp_cluster_sync_e  sync;
    unsigned            replicas;      /* number of replicas that must
                                          acknowledge a write; 0: none */
    uint64_t            timeout;       /* timeout, outage_timeout and
                                          node_timeout are in ms, see
                                          MCP_CLUSTER_OPTIONS */
    uint64_t            outage_timeout;
    uint64_t            node_timeout;

    /* Names of files for TLS, which the glue loads. If tls_ca is empty, the
     * system's authorities are trusted. If tls_certificate and
     * tls_certificate_key are empty, connections have no client certificate. */
    mcp_str_t           tls_ca;
    mcp_str_t           tls_certificate;
    mcp_str_t           tls_certificate_key;
    mcp_str_t           tls_server_name;       /* host name for SNI and for the
                                                  check of the certificate;
                                                  empty: the host of the seed */
    unsigned            tls:1;         /* 1 if at least one seed uses TLS */
    unsigned            tls_verify;    /* 1: verify the server's certificate */
} mcp_cluster_conf_t;


/*
 * Directives with one value: X(id, nginx name, Apache name, kind, member of
 * mcp_cluster_conf_t, minimum, maximum, help text). The minimum and the
 * maximum are in ms, and apply to times only.
 */
#define MCP_CLUSTER_OPTIONS(X)                                                \
    X(TIMEOUT, "mcp_cluster_timeout", "MCPClusterTimeout",                    \
      TIME, timeout, 50, 60000, "time that Redis may take to reply")          \
    X(OUTAGE_TIMEOUT, "mcp_cluster_outage_timeout", "MCPClusterOutageTimeout",\
      TIME, outage_timeout, 0, 3600000,                                       \
      "time for which calls are accepted without Redis")                      \
    X(NODE_TIMEOUT, "mcp_cluster_node_timeout", "MCPClusterNodeTimeout",      \
      TIME, node_timeout, 1000, 3600000,                                      \
      "time without a heartbeat after which a node is declared dead")         \
    X(CA, "mcp_cluster_ca", "MCPClusterCA", FILE, tls_ca, 0, 0,               \
      "file with the CA certificates that verify the certificate of Redis")   \
    X(CERTIFICATE, "mcp_cluster_certificate", "MCPClusterCertificate",        \
      FILE, tls_certificate, 0, 0,                                            \
      "file with the client certificate for Redis")                           \
    X(CERTIFICATE_KEY, "mcp_cluster_certificate_key",                         \
      "MCPClusterCertificateKey",                                             \
      FILE, tls_certificate_key, 0, 0,                                        \
      "file with the key of the client certificate")                          \
    X(VERIFY, "mcp_cluster_verify", "MCPClusterVerify",                       \
      FLAG, tls_verify, 0, 0,                                                 \
      "on or off: whether the certificate of Redis is verified")              \
    X(SERVER_NAME, "mcp_cluster_server_name", "MCPClusterServerName",         \
      TEXT, tls_server_name, 0, 0, "host name in the certificate of Redis")

#define MCP_CLUSTER_OPTION_ID(id, nginx, apache, kind, member, min, max,      \
    help)                                                                     \
    MCP_CLUSTER_##id,

typedef enum {
    MCP_CLUSTER_OPTIONS(MCP_CLUSTER_OPTION_ID)
    MCP_CLUSTER_OPTION_COUNT
} mcp_cluster_option_e;


typedef struct mcp_cluster_setup_s  mcp_cluster_setup_t;


/* Returns a setup in which no option is set, or NULL when out of memory. mem
 * must outlive the setup. */
mcp_cluster_setup_t *mcp_cluster_setup_create(const mcp_mem_t *mem);
void mcp_cluster_setup_free(mcp_cluster_setup_t *setup);


/*
 * The functions from here to mcp_cluster_setup_sync() parse and copy the value
 * of a directive. They return MCP_OK, or
 *   MCP_ERR_CONFIG  error (MCP_SETUP_ERROR_MAX bytes) has the reason. The error
 *                   MCP_SETUP_DUPLICATE ("is duplicate") has to be logged after
 *                   the directive's name, see mcp_setup_directive.h.
 *   MCP_ERR_MEMORY
 */

/* To be called once for each mcp_cluster directive, before its parameters are
 * passed to mcp_cluster_setup_parameter(). */
int mcp_cluster_setup_begin(mcp_cluster_setup_t *setup, char *error);

/*
 * Parses one parameter of mcp_cluster: "redis://[user@]host[:port][/db]",
 * "rediss://" with the same syntax, "unix:/path", or "name=value". Sets *file
 * to the name of a file that the glue has to read and pass to
 * mcp_cluster_setup_password() at once, or to an empty string.
 */
int mcp_cluster_setup_parameter(mcp_cluster_setup_t *setup, mcp_str_t word,
    mcp_str_t *file, char *error);

/* Copies the password from "contents", the text of the file that the last call
 * of mcp_cluster_setup_parameter() has named. Line ends after the password are
 * not copied. The name of the file is used in errors only. */
int mcp_cluster_setup_password(mcp_cluster_setup_t *setup, mcp_str_t file,
    mcp_str_t contents, char *error);

int mcp_cluster_setup_option(mcp_cluster_setup_t *setup,
    mcp_cluster_option_e option, mcp_str_t text, char *error);

/* Returns 1 if the option's value is a file name, which the glue makes
 * absolute. */
int mcp_cluster_option_is_file(mcp_cluster_option_e option);

/* Parses the arguments of mcp_cluster_sync: text is "on" or "off"; replicas
 * is the argument "replicas=N", or has .data NULL if there is no such
 * argument. */
int mcp_cluster_setup_sync(mcp_cluster_setup_t *setup, mcp_str_t text,
    mcp_str_t replicas, char *error);


/* Copies from parent all values that setup does not have, except the parameters
 * of mcp_cluster. Borrows the text of parent. */
void mcp_cluster_setup_merge(mcp_cluster_setup_t *setup,
    const mcp_cluster_setup_t *parent);

/* Returns 1 if setup has the parameters of an mcp_cluster directive. */
int mcp_cluster_setup_has_parameters(const mcp_cluster_setup_t *setup);

/* Returns the nginx or Apache name of the first option that is set, or NULL if
 * none is set. The glue reports the name in the error about options without
 * mcp_cluster. */
const char *mcp_cluster_setup_warning(const mcp_cluster_setup_t *setup,
    int apache);

/*
 * Checks the configuration as a whole and sets *conf, which is valid as long as
 * the setup and its parent. If apache is 1, errors have the Apache names of
 * directives, otherwise those of nginx.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  error has the reason
 *   MCP_ERR_MEMORY
 */
int mcp_cluster_setup_finish(mcp_cluster_setup_t *setup,
    const mcp_cluster_conf_t **conf, int apache, char *error);

/*
 * Writes the next warning about an option without effect to text
 * (MCP_SETUP_ERROR_MAX bytes). tls is 1 if a cluster with these options uses
 * TLS. *position, the state of the iteration, is 0 for the first call. Returns
 * 0 if no warning is left.
 */
int mcp_cluster_setup_idle(const mcp_cluster_setup_t *setup, int tls,
    int apache, unsigned *position, char *text);

/* Returns 1 if at least one of the configured servers is reached over TCP, not
 * at a loopback address, and no password is set: everybody who can connect to
 * that server can read and forge messages. */
int mcp_cluster_conf_is_open(const mcp_cluster_conf_t *conf);


MCP_DECLARATIONS_END


#endif /* MCP_CLUSTER_CONF_H_INCLUDED */
