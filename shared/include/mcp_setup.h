/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The configuration of an endpoint as an operator wrote it: the values that are
 * allowed, how sections inherit from those around them, and the endpoint that
 * results.  The glue knows the names of directives, reads files and provides
 * memory.
 */


#ifndef MCP_SETUP_H_INCLUDED
#define MCP_SETUP_H_INCLUDED


#include "mcp_option.h"


#define MCP_SETUP_ERROR_MAX         512        /* bytes of an error's text */
#define MCP_SETUP_KEY_FILE_MAX      4096
#define MCP_SETUP_CATALOG_FILE_MAX  (64 * 1024 * 1024)


typedef struct mcp_setup_s  mcp_setup_t;


/*
 * Returns a setup in which nothing is set, or NULL when out of memory.
 *
 * mem frees single allocations and outlives the setup.  Setups that inherit
 * from this one, and endpoints, borrow its compiled patterns and its catalog:
 * free all setups of a configuration together.
 */
mcp_setup_t *mcp_setup_create(const mcp_mem_t *mem);
void mcp_setup_free(mcp_setup_t *setup);


/*
 * The functions from here to mcp_setup_publish_url() take one directive each.
 * They are called before mcp_setup_merge(), and copy all text.
 *
 * They return MCP_OK, or
 *   MCP_ERR_CONFIG  error (MCP_SETUP_ERROR_MAX bytes) says why.  The errors of
 *                   mcp_setup_option() and MCP_SETUP_DUPLICATE continue the
 *                   directive's name; the others stand alone.
 *   MCP_ERR_MEMORY
 */
#define MCP_SETUP_DUPLICATE  "is duplicate"

int mcp_setup_option(mcp_setup_t *setup, mcp_option_e option, mcp_str_t text,
    char *error);

/* The texts must be UTF-8 and not empty; title.data may be NULL. */
int mcp_setup_server(mcp_setup_t *setup, mcp_str_t name, mcp_str_t version,
    mcp_str_t title, char *error);

/* Adds a key, the contents of a file: the first key signs, all verify.  The
 * file's name is for the error only.  mcp_setup_keys_begin() comes before the
 * keys of one directive; a second call is a duplicate. */
int mcp_setup_keys_begin(mcp_setup_t *setup, char *error);
int mcp_setup_key(mcp_setup_t *setup, mcp_str_t file, mcp_str_t contents,
    char *error);

/* Returns 1 and writes a warning if others are likely to know the key: its
 * bytes are all equal, or every user of the machine can read the file
 * (readable). */
int mcp_setup_key_weak(mcp_str_t file, mcp_str_t contents, int readable,
    char *warning);

int mcp_setup_catalog(mcp_setup_t *setup, mcp_str_t file, mcp_str_t contents,
    char *error);

/* The target is the glue's name of a backend: a named location, a URI. */
int mcp_setup_backend(mcp_setup_t *setup, mcp_str_t target, char *error);
int mcp_setup_route(mcp_setup_t *setup, mcp_str_t pattern, mcp_str_t target,
    char *error);

/* Adds a rule about who may see and call what (mcp_allow.h), and says what
 * scopes callers have.  The values are the glue's, which evaluates them for a
 * request: mcp_head_t. */
int mcp_setup_allow(mcp_setup_t *setup, mcp_str_t pattern, const void *value,
    char *error);
int mcp_setup_granted_scopes(mcp_setup_t *setup, const void *value,
    char *error);

/* The origin is "scheme://host[:port]", "~regex", "null" or "*". */
int mcp_setup_origin(mcp_setup_t *setup, mcp_str_t origin, char *error);

/* Adds a revision to those that the endpoint serves; it serves all if none is
 * named. */
int mcp_setup_revision(mcp_setup_t *setup, mcp_str_t name, char *error);

/*
 * The endpoint as an OAuth resource server: its canonical URI (RFC 8707, 2), or
 * "off"; the issuers of its tokens, one at a time (RFC 8414, 2); and scopes
 * that its clients need, likewise (RFC 6749, 3.3).
 */
int mcp_setup_auth_resource(mcp_setup_t *setup, mcp_str_t uri, char *error);
int mcp_setup_auth_server(mcp_setup_t *setup, mcp_str_t uri, char *error);
int mcp_setup_auth_scope(mcp_setup_t *setup, mcp_str_t scope, char *error);

/* Checks the origin of stream URLs, for a glue that knows it at configuration
 * time, and keeps nothing.  The origin is "http://host[:port]" or
 * "https://host[:port]", or empty. */
int mcp_setup_link_origin(mcp_str_t origin, char *error);

int mcp_setup_publish_token(mcp_setup_t *setup, mcp_str_t token, char *error);
int mcp_setup_publish_url(mcp_setup_t *setup, mcp_str_t url, char *error);


/*
 * Says where the catalog stands, or the endpoint, so that its lists are
 * compared with those of the last configuration: the server's name, the path
 * of the section, and a number for the second of the same names, the third,
 * and so on, from 0.  Whoever inherits the catalog inherits its place.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_setup_stand(mcp_setup_t *setup, mcp_str_t server, mcp_str_t path,
    unsigned n);

/* Copies the path of the section, which becomes the endpoint's identity in its
 * cluster unless mcp_setup_cluster_endpoint() sets another one.  Returns MCP_OK
 * or MCP_ERR_MEMORY. */
int mcp_setup_path(mcp_setup_t *setup, mcp_str_t path);

int mcp_setup_cluster_endpoint(mcp_setup_t *setup, mcp_str_t name, char *error);

/* Returns the name by which the nodes of a cluster recognize the endpoint;
 * empty if neither a name nor a path is set. */
mcp_str_t mcp_setup_identity(const mcp_setup_t *setup);

/* Returns 1 if mcp_setup_cluster_endpoint() has set the identity. */
int mcp_setup_has_cluster_endpoint(const mcp_setup_t *setup);

/* Returns the place, NULL if there is none. */
const unsigned char *mcp_setup_place(const mcp_setup_t *setup);

/* Takes from parent everything that setup does not set. */
void mcp_setup_merge(mcp_setup_t *setup, const mcp_setup_t *parent);

/*
 * Sets *auth to what clients are told about authorization, which lives as long
 * as the setup, or to NULL if there is no resource.  The setup is merged.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    the resource has no authorization server; error
 *                     (MCP_SETUP_ERROR_MAX bytes) says so
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_setup_auth(mcp_setup_t *setup, const mcp_auth_t **auth, char *error);

/*
 * Makes the endpoint, which borrows from setup.  The keys, and the server's
 * name and version, are used if setup has none.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_setup_endpoint(mcp_setup_t *setup, const mcp_keys_t *keys,
    mcp_str_t name, mcp_str_t version, mcp_endpoint_t *endpoint);

/* Returns 1 if the catalog offers items but the setup has neither a backend nor
 * routes.  The setup is merged; it need not have an endpoint. */
int mcp_setup_lacks_backend(const mcp_setup_t *setup);

/* Returns 1 if items of the catalog need scopes, but nobody says which ones
 * callers have: all calls of these are refused.  The setup is merged; it need
 * not have an endpoint. */
int mcp_setup_lacks_scopes(const mcp_setup_t *setup);

/* Returns the first rule that names one item, which the catalog does not have;
 * empty if there is none.  The setup is merged; it need not have an
 * endpoint. */
mcp_str_t mcp_setup_allow_nothing(const mcp_setup_t *setup);

/*
 * Looks for a header that the catalog has clients send (x-mcp-header) and that
 * the server does not pass on: drops() returns 1 for such a name, which follows
 * "Mcp-Param-".  The setup is merged; it need not have an endpoint.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  error (MCP_SETUP_ERROR_MAX bytes) names file, line and
 *                   header
 */
int mcp_setup_check_headers(const mcp_setup_t *setup,
    int (*drops)(void *ctx, mcp_str_t name), void *ctx, char *error);

/* Writes the next warning about a setting that has no effect, or one that is
 * hardly meant, into text (MCP_SETUP_ERROR_MAX bytes); it continues the
 * endpoint's name.  *position is 0 at first.  The setup is merged; it need not
 * have an endpoint.  Returns 0 if no warning is left. */
int mcp_setup_warning(const mcp_setup_t *setup, int apache, unsigned *position,
    char *text);

/* Lowers the default of mcp_stream_buffer, if the setup does not set it, to an
 * eighth of a zone of size bytes. */
void mcp_setup_fit(const mcp_setup_t *setup, uint64_t size,
    mcp_endpoint_t *endpoint);

/* Returns 1 if one stream may take half of a zone of size bytes, or more.  The
 * setup is merged; it need not have an endpoint. */
int mcp_setup_fills_zone(const mcp_setup_t *setup, uint64_t size);

/* Returns 1 if a task may end before its backend has to answer.  The same. */
int mcp_setup_ends_tasks(const mcp_setup_t *setup);

/* Return the number of targets of the endpoint that was made last, and one of
 * them; the index is mcp_job_t.target. */
unsigned mcp_setup_targets(const mcp_setup_t *setup);
mcp_str_t mcp_setup_target(const mcp_setup_t *setup, unsigned target);

/* Returns the keys, NULL if there are none. */
const mcp_keys_t *mcp_setup_keys(const mcp_setup_t *setup);

/* Returns the publish token, empty if there is none. */
mcp_str_t mcp_setup_publish_secret(const mcp_setup_t *setup);


#endif /* MCP_SETUP_H_INCLUDED */
