/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of a cluster's configuration. */


#ifndef CLUSTER_CONF_CASES_H_INCLUDED
#define CLUSTER_CONF_CASES_H_INCLUDED


#include "setup_cases.h"

#include "mcp_cluster_conf.h"


static inline void
cluster_free(void *s)
{
    mcp_cluster_setup_free(s);
}


/* Returns a setup, which done() frees. */
static inline mcp_cluster_setup_t *
cluster_new(void)
{
    mcp_cluster_setup_t  *s;

    s = mcp_cluster_setup_create(&tm.mem);
    assert_non_null(s);
    keep(s, cluster_free);

    return s;
}


/* Sets a parameter of mcp_cluster that names no file, and returns the result
 * of mcp_cluster_setup_parameter(). */
static inline int
say(mcp_cluster_setup_t *s, const char *word)
{
    int        rc;
    mcp_str_t  file;

    rc = mcp_cluster_setup_parameter(s, test_str(word), &file, error);

    if (rc == MCP_OK) {
        assert_int_equal(file.len, 0);
    }

    return rc;
}


static inline const mcp_cluster_conf_t *
finished(mcp_cluster_setup_t *s)
{
    const mcp_cluster_conf_t  *conf;

    taken(mcp_cluster_setup_finish(s, &conf, 0, error));

    return conf;
}


#endif /* CLUSTER_CONF_CASES_H_INCLUDED */
