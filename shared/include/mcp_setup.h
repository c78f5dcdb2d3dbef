/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What an operator wrote about an endpoint, as far as it was written: what
 * values are allowed, how sections inherit from those around them, and the
 * endpoint that results.  Directives' names, files and memory are the glue's.
 */


#ifndef MCP_SETUP_H_INCLUDED
#define MCP_SETUP_H_INCLUDED


#include "mcp_option.h"


#define MCP_SETUP_ERROR_MAX         512        /* bytes for an error's text */
#define MCP_SETUP_KEY_FILE_MAX      4096
#define MCP_SETUP_CATALOG_FILE_MAX  (64 * 1024 * 1024)


typedef struct mcp_setup_s  mcp_setup_t;


/*
 * mem is a malloc and must outlive the setup.  What one setup made (compiled
 * patterns, catalogs) is borrowed by those that inherit it and by endpoints:
 * free all setups of a configuration together.  NULL when out of memory.
 */
mcp_setup_t *mcp_setup_create(const mcp_mem_t *mem);
void mcp_setup_free(mcp_setup_t *setup);

/*
 * One directive each, all of them before mcp_setup_merge().  All text is
 * copied.  MCP_OK; MCP_ERR_MEMORY; or MCP_ERR_CONFIG with the reason in error
 * (MCP_SETUP_ERROR_MAX bytes): MCP_SETUP_DUPLICATE, and all that
 * mcp_setup_option() says, is worded to follow the directive's name; the rest
 * stands alone.
 */
#define MCP_SETUP_DUPLICATE  "is duplicate"

int mcp_setup_option(mcp_setup_t *setup, mcp_option_e option, mcp_str_t text,
    char *error);

/* What goes into JSON must be UTF-8 and not empty; title.data may be NULL. */
int mcp_setup_server(mcp_setup_t *setup, mcp_str_t name, mcp_str_t version,
    mcp_str_t title, char *error);

/* One key out of a file's contents: the first one signs, all verify.  file is
 * for the error alone.  mcp_setup_keys_begin() comes before the keys of one
 * directive: a second directive is a duplicate. */
int mcp_setup_keys_begin(mcp_setup_t *setup, char *error);
int mcp_setup_key(mcp_setup_t *setup, mcp_str_t file, mcp_str_t contents,
    char *error);

int mcp_setup_catalog(mcp_setup_t *setup, mcp_str_t file, mcp_str_t contents,
    char *error);

/* target: what the glue calls a backend by (a named location, a URI). */
int mcp_setup_backend(mcp_setup_t *setup, mcp_str_t target, char *error);
int mcp_setup_route(mcp_setup_t *setup, mcp_str_t pattern, mcp_str_t target,
    char *error);

/* "scheme://host[:port]", "~regex", "null" or "*". */
int mcp_setup_origin(mcp_setup_t *setup, mcp_str_t origin, char *error);

/* The origin of stream URLs, where it is known by now: checked, not kept.
 * "http://host[:port]", the same with https, or nothing. */
int mcp_setup_link_origin(mcp_str_t origin, char *error);

int mcp_setup_publish_token(mcp_setup_t *setup, mcp_str_t token, char *error);
int mcp_setup_publish_url(mcp_setup_t *setup, mcp_str_t url, char *error);


/* What setup does not say is taken from parent (borrowed, see above). */
void mcp_setup_merge(mcp_setup_t *setup, const mcp_setup_t *parent);

/*
 * The endpoint that results, borrowing from setup.  keys: used when none were
 * configured.  name, version: the server's own, likewise.  MCP_OK or
 * MCP_ERR_MEMORY.
 */
int mcp_setup_endpoint(mcp_setup_t *setup, const mcp_keys_t *keys,
    mcp_str_t name, mcp_str_t version, mcp_endpoint_t *endpoint);

/* 1 if its catalog offers what no backend is there for; also of a setup that is
 * merged and no endpoint yet. */
int mcp_setup_lacks_backend(const mcp_setup_t *setup);

/* 1 if one stream may have half of a zone of size bytes, or more; otherwise as
 * above. */
int mcp_setup_fills_zone(const mcp_setup_t *setup, uint64_t size);

/* Of the endpoint made last: how many targets its routes have, and which; the
 * index is mcp_job_t.target. */
unsigned mcp_setup_targets(const mcp_setup_t *setup);
mcp_str_t mcp_setup_target(const mcp_setup_t *setup, unsigned target);

/* Empty if none. */
mcp_str_t mcp_setup_publish_secret(const mcp_setup_t *setup);


#endif /* MCP_SETUP_H_INCLUDED */
