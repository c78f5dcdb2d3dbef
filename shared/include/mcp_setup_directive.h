/* SPDX-License-Identifier: Apache-2.0 */

/* The configuration of an endpoint while it is read: the allowed values, the
 * inheritance between sections, and the resulting endpoint. The glue reads
 * files and provides memory. The names of directives are in mcp_directive.h. */


#ifndef MCP_SETUP_DIRECTIVE_H_INCLUDED
#define MCP_SETUP_DIRECTIVE_H_INCLUDED


#include "mcp_endpoint.h"
#include "mcp_number_option.h"


MCP_DECLARATIONS_BEGIN


#define MCP_SETUP_ERROR_MAX         512        /* maximum length of an error,
                                                  bytes */
#define MCP_SETUP_KEY_FILE_MAX      4096
#define MCP_SETUP_CATALOG_FILE_MAX  (64 * 1024 * 1024)


typedef struct mcp_keys_s   mcp_keys_t;
typedef struct mcp_setup_s  mcp_setup_t;


/*
 * Returns a setup in which no value is set, or NULL when out of memory. mem
 * must outlive the setup. Setups that inherit from this one, and endpoints,
 * borrow its compiled patterns and its catalog: free all setups of a
 * configuration together.
 */
mcp_setup_t *mcp_setup_create(const mcp_mem_t *mem);
void mcp_setup_free(mcp_setup_t *setup);


/*
 * The functions from here to mcp_setup_publish_url() take the value of one
 * directive each. They must be called before mcp_setup_merge(), and copy all
 * text.
 *
 * They return MCP_OK, or
 *   MCP_ERR_CONFIG  error (MCP_SETUP_ERROR_MAX bytes) has the reason. The
 *                   errors of mcp_setup_option() and MCP_SETUP_DUPLICATE
 *                   have to be logged after the directive's name. The others
 *                   are complete.
 *   MCP_ERR_MEMORY
 */
#define MCP_SETUP_DUPLICATE  "is duplicate"

int mcp_setup_option(mcp_setup_t *setup, mcp_option_e option, mcp_str_t text,
    char *error);

/* Sets the name, the version and the title of the server. The texts must be
 * UTF-8 and not empty. title.data may be NULL. */
int mcp_setup_server(mcp_setup_t *setup, mcp_str_t name, mcp_str_t version,
    mcp_str_t title, char *error);

/*
 * mcp_setup_keys_begin() must be called before the keys of one directive are
 * added. Its second call fails with the error "is duplicate". mcp_setup_key()
 * adds the contents of one key file: the first key signs, all keys verify. The
 * name of the file is used in errors only.
 */
int mcp_setup_keys_begin(mcp_setup_t *setup, char *error);
int mcp_setup_key(mcp_setup_t *setup, mcp_str_t file, mcp_str_t contents,
    char *error);

/* Returns 1 and writes a warning if a key is easy to find out, because all its
 * bytes are equal, or because readable is 1: every user of the machine can
 * read the file. */
int mcp_setup_key_weak(mcp_str_t file, mcp_str_t contents, int readable,
    char *warning);

int mcp_setup_catalog(mcp_setup_t *setup, mcp_str_t file, mcp_str_t contents,
    char *error);

/* Sets the default backend. "target" is the name by which the glue finds the
 * backend: a named location or a URI. */
int mcp_setup_backend(mcp_setup_t *setup, mcp_str_t target, char *error);
int mcp_setup_route(mcp_setup_t *setup, mcp_str_t pattern, mcp_str_t target,
    char *error);

/* Add a rule about the items that callers may use (mcp_item_access.h), and the
 * expression for the scopes of callers. Each "value" is an expression of the
 * glue, which evaluates it for a request: see mcp_head_t. */
int mcp_setup_allow(mcp_setup_t *setup, mcp_str_t pattern, const void *value,
    char *error);
int mcp_setup_granted_scopes(mcp_setup_t *setup, const void *value,
    char *error);

/* Adds an origin whose pages may use the endpoint: "scheme://host[:port]",
 * "~regex", "null" or "*". */
int mcp_setup_origin(mcp_setup_t *setup, mcp_str_t origin, char *error);

/* Adds a revision to those that the endpoint serves. If no revision is added,
 * the endpoint serves all revisions. */
int mcp_setup_revision(mcp_setup_t *setup, mcp_str_t name, char *error);

/* Describe the endpoint as an OAuth resource server: its canonical URI (RFC
 * 8707, 2) or "off"; one issuer of its tokens (RFC 8414, 2); one scope that
 * clients need (RFC 6749, 3.3). */
int mcp_setup_auth_resource(mcp_setup_t *setup, mcp_str_t uri, char *error);
int mcp_setup_auth_server(mcp_setup_t *setup, mcp_str_t uri, char *error);
int mcp_setup_auth_scope(mcp_setup_t *setup, mcp_str_t scope, char *error);

/* Checks the origin of stream URLs, if it is known when the configuration is
 * read; stores nothing. The origin is "http://host[:port]" or
 * "https://host[:port]", or empty. */
int mcp_setup_link_origin(mcp_str_t origin, char *error);

int mcp_setup_publish_token(mcp_setup_t *setup, mcp_str_t token, char *error);

/* An empty URL means that backends get no URL, although an outer section sets
 * one. */
int mcp_setup_publish_url(mcp_setup_t *setup, mcp_str_t url, char *error);


/*
 * Computes the catalog key of the endpoint: the digest by which its lists are
 * compared with the lists of the previous configuration. The key depends on
 * the server's name, the path of the section, and a number n from 0 that
 * distinguishes endpoints with equal names and paths. A section that inherits
 * the catalog inherits the key.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_setup_set_catalog_key(mcp_setup_t *setup, mcp_str_t server,
    mcp_str_t path, unsigned n);

/* Copies the path of the section. It is the endpoint's identity in its cluster
 * unless mcp_setup_cluster_endpoint() sets another one. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
int mcp_setup_path(mcp_setup_t *setup, mcp_str_t path);

/* Returns the path of the section, .data NULL if it was not set. */
mcp_str_t mcp_setup_section_path(const mcp_setup_t *setup);

/* Sets the identity of the endpoint in its cluster, the value of
 * mcp_cluster_endpoint. Returns the values of mcp_setup_publish_url(). */
int mcp_setup_cluster_endpoint(mcp_setup_t *setup, mcp_str_t name, char *error);

/* Returns the identity of the endpoint in its cluster; empty if neither a name
 * nor a path is set. */
mcp_str_t mcp_setup_identity(const mcp_setup_t *setup);

/* Returns 1 if mcp_setup_cluster_endpoint() has set the identity. */
int mcp_setup_has_cluster_endpoint(const mcp_setup_t *setup);

/* Returns the catalog key, or NULL if mcp_setup_set_catalog_key() was not
 * called. */
const unsigned char *mcp_setup_catalog_key(const mcp_setup_t *setup);

/* Directives whose values the glue keeps, as bits for mcp_setup_mark_own(). */
#define MCP_SETUP_PRINCIPAL     0x1
#define MCP_SETUP_LINK_ORIGIN   0x2
#define MCP_SETUP_PUBLISH_OPEN  0x4
#define MCP_SETUP_MAX_BODY      0x8

/*
 * Marks every value that is set at this time as the section's own, so that
 * mcp_setup_warning() can distinguish it from inherited values. "kept" has the
 * bits of the directives that the section sets and whose values the glue keeps.
 * To be called before the first parent is merged.
 */
void mcp_setup_mark_own(mcp_setup_t *setup, unsigned kept);

/* Returns 1 if the section itself sets no value, according to
 * mcp_setup_mark_own(). */
int mcp_setup_is_empty_section(const mcp_setup_t *setup);

/* Returns the n-th backend name (from 0) in the values of mcp_backend and
 * mcp_route; its .data is NULL if there are fewer names. The setup need not
 * have an endpoint. */
mcp_str_t mcp_setup_backend_name(const mcp_setup_t *setup, size_t n);

/* Records that mcp_backend or mcp_route of "setup" names the section of
 * "backend" by this name, so that mcp_setup_warning() does not warn about the
 * section's directives. */
void mcp_setup_mark_backend(mcp_setup_t *backend, const mcp_setup_t *setup,
    mcp_str_t name);

/*
 * Returns the number of connections that the quotas let one caller hold: one
 * for each listener, and two for each call (the client's and the backend's).
 * mcp_quota_streams and mcp_quota_listeners count as 0 if they are "off" or
 * "share", the default, because the streams that these values allow would
 * exceed the worker_connections of most servers.
 * mcp_max_session_streams does not count, because it also limits streams that
 * hold no connection: those of tasks, and those that are over and wait for
 * their client. Returns 0 if mcp_quota_key is "off".
 */
uint64_t mcp_setup_connections(const mcp_setup_t *setup);

/* Copies from parent all values that setup does not have. */
void mcp_setup_merge(mcp_setup_t *setup, const mcp_setup_t *parent);

/*
 * Sets *auth to the authorization settings for clients, which are valid as long
 * as the setup, or to NULL if the endpoint is not an OAuth resource. The setup
 * must be merged.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    the resource has no authorization server; error
 *                     (MCP_SETUP_ERROR_MAX bytes) has the reason
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_setup_auth(mcp_setup_t *setup, const mcp_auth_t **auth, char *error);

/* Creates the endpoint, which is valid as long as the setup. The arguments
 * keys, name and version are the defaults for values that setup lacks.
 * has_principal is 1 if callers are authenticated. Returns NULL when out of
 * memory. */
mcp_endpoint_t *mcp_setup_endpoint(mcp_setup_t *setup, const mcp_keys_t *keys,
    mcp_str_t name, mcp_str_t version, int has_principal);

/*
 * Checks that the server removes none of the catalog's headers (x-mcp-header)
 * from requests. drops() gets the part of a header's name after "Mcp-Param-",
 * and returns 1 if the server removes this header. The setup must be merged; it
 * need not have an endpoint.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  error (MCP_SETUP_ERROR_MAX bytes) names file, line and
 *                   header
 */
int mcp_setup_check_headers(const mcp_setup_t *setup,
    int (*drops)(void *ctx, mcp_str_t name), void *ctx, char *error);

/* The kinds of sections. */
typedef enum {
    MCP_SETUP_ENDPOINT = 0,
    MCP_SETUP_PUBLISH,
    MCP_SETUP_STATUS,
    MCP_SETUP_BACKEND,                 /* a section without a handler of the
                                          module, which may be a backend */
    MCP_SETUP_OUTER                    /* a section from which sections of the
                                          other kinds may inherit directives */
} mcp_setup_section_e;

/*
 * Writes the next warning about a setting that has no effect, or that is
 * probably a mistake, to text (MCP_SETUP_ERROR_MAX bytes). The glue logs the
 * text after the name of the section. *position, the state of the iteration, is
 * 0 for the first call. The setup must be merged; it need not have an endpoint.
 * Returns 0 if no warning is left.
 */
int mcp_setup_warning(const mcp_setup_t *setup, mcp_setup_section_e section,
    int apache, unsigned *position, char *text);

/* Lowers the default of mcp_stream_buffer to an eighth of a zone of size bytes,
 * if the setup does not set the option. */
void mcp_setup_fit(const mcp_setup_t *setup, uint64_t size,
    mcp_endpoint_t *endpoint);

/* Returns 1 if a single stream may fill half of a zone of size bytes or more.
 * The setup must be merged; it need not have an endpoint. */
int mcp_setup_fills_zone(const mcp_setup_t *setup, uint64_t size);

/* mcp_setup_targets() returns the number of targets of the endpoint that was
 * created last. mcp_setup_target() returns the name of the target with this
 * index, which is a value of mcp_backend_request_t.target. */
unsigned mcp_setup_targets(const mcp_setup_t *setup);
mcp_str_t mcp_setup_target(const mcp_setup_t *setup, unsigned target);

/* mcp_setup_has_upstream() returns 1 if the section sets mcp_upstream;
 * mcp_setup_upstream() returns its value, a mcp_upstream_e. */
int mcp_setup_has_upstream(const mcp_setup_t *setup);
unsigned mcp_setup_upstream(const mcp_setup_t *setup);

/* Returns 1 if two sections have the same values of mcp_upstream and of all
 * directives mcp_upstream_...; a directive that is not set has its default. */
int mcp_setup_same_upstream(const mcp_setup_t *a, const mcp_setup_t *b);

/* Applies the directives mcp_upstream and mcp_upstream_... to a target of the
 * endpoint that was created last. "backend" is the section of the backend, and
 * has the values of these directives. */
void mcp_setup_set_upstream(mcp_setup_t *setup, unsigned target,
    const mcp_setup_t *backend);

/* Returns the signing keys of the section, or NULL if it has none. */
const mcp_keys_t *mcp_setup_keys(const mcp_setup_t *setup);

/* Returns the publish token, or an empty string if there is none. */
mcp_str_t mcp_setup_publish_secret(const mcp_setup_t *setup);


MCP_DECLARATIONS_END


#endif /* MCP_SETUP_DIRECTIVE_H_INCLUDED */
