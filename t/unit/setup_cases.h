/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of the setup, which reads the directives of an
 * endpoint. */


#ifndef SETUP_CASES_H_INCLUDED
#define SETUP_CASES_H_INCLUDED


#include "memory_cases.h"

#include "config/mcp_endpoint_internal.h"
#include "mcp_setup_directive.h"


#define KEY      "0123456789abcdef0123456789abcdef"
#define CATALOG  "{\"tools\":[{\"name\":\"t\",\"inputSchema\":"               \
                 "{\"type\":\"object\"}}]}"


static char            error[MCP_SETUP_ERROR_MAX] __attribute__((unused));
static mcp_endpoint_t  e __attribute__((unused));


static inline void
setup_free(void *s)
{
    mcp_setup_free(s);
}


/* Returns a setup, which done() frees. */
static inline mcp_setup_t *
setup_new(void)
{
    mcp_setup_t  *s;

    s = mcp_setup_create(&tm.mem);
    assert_non_null(s);
    keep(s, setup_free);

    return s;
}


static inline void
refused(int rc, const char *text)
{
    assert_int_equal(rc, MCP_ERR_CONFIG);

    if (strcmp(error, text) != 0) {
        fail_msg("%s instead of %s", error, text);
    }

    memset(error, 0x5a, sizeof(error));
}


static inline void
taken(int rc)
{
    if (rc != MCP_OK) {
        fail_msg("%d: %s", rc, error);
    }
}


/* Creates the endpoint of a setup, and copies it to e. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
static inline int
endpoint_of(mcp_setup_t *s, const mcp_keys_t *keys)
{
    const mcp_endpoint_t  *made;

    made = mcp_setup_endpoint(s, keys, mcp_str("own"), mcp_str("0.1"), 0);

    if (made == NULL) {
        return MCP_ERR_MEMORY;
    }

    e = *made;

    return MCP_OK;
}


static inline void
endpoint(mcp_setup_t *s)
{
    assert_ok(endpoint_of(s, NULL));
}


/* Sets a value of each kind that a setup can hold. Most of the values contain
 * the text n. */
static inline int
say_all(mcp_setup_t *s, const char *n)
{
    int        rc;
    char       key[64], url[64];
    mcp_str_t  text;

    text = test_str(n);
    snprintf(url, sizeof(url), "http://%s", n);
    snprintf(key, sizeof(key), "%s%s", n, KEY);

    rc = mcp_setup_option(s, MCP_OPTION_RETRY, text, error);

    rc = rc ? rc : mcp_setup_server(s, text, text, text, error);
    rc = rc ? rc : mcp_setup_keys_begin(s, error);
    rc = rc ? rc : mcp_setup_key(s, mcp_str("/k"), test_str(key), error);
    rc = rc ? rc : mcp_setup_catalog(s, mcp_str("/c"), mcp_str(CATALOG),
                                     error);
    rc = rc ? rc : mcp_setup_backend(s, text, error);
    rc = rc ? rc : mcp_setup_route(s, mcp_str("~^r"), text, error);
    rc = rc ? rc : mcp_setup_route(s, mcp_str("x"), text, error);
    rc = rc ? rc : mcp_setup_origin(s, mcp_str("http://a"), error);
    rc = rc ? rc : mcp_setup_publish_token(s, text, error);
    rc = rc ? rc : mcp_setup_publish_url(s, test_str(url), error);

    return rc;
}


/* Returns the number of warnings about a section that contain this text. */
static inline unsigned
reported(const mcp_setup_t *s, mcp_setup_section_e section, int apache,
    const char *with)
{
    char      text[MCP_SETUP_ERROR_MAX];
    unsigned  n, position;

    n = 0;
    position = 0;

    while (mcp_setup_warning(s, section, apache, &position, text)) {
        n += strstr(text, with) != NULL;
    }

    return n;
}


/* Returns the number of warnings about an endpoint that contain this text. */
static inline unsigned
warnings(const mcp_setup_t *s, int apache, const char *with)
{
    return reported(s, MCP_SETUP_ENDPOINT, apache, with);
}


#endif /* SETUP_CASES_H_INCLUDED */
