/* SPDX-License-Identifier: Apache-2.0 */

/* Directives of a cluster: accepted values, errors, and the resulting
 * configuration. */


#include "cluster_conf_cases.h"


static int
option(mcp_cluster_setup_t *s, mcp_cluster_option_e o, const char *text)
{
    return mcp_cluster_setup_option(s, o, test_str(text), error);
}


static int
replicate(mcp_cluster_setup_t *s, const char *text, const char *replicas)
{
    return mcp_cluster_setup_sync(s, test_str(text),
                                  replicas ? test_str(replicas)
                                           : mcp_null_str,
                                  error);
}


static void
defaults(void **state)
{
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    (void) state;

    s = cluster_new();
    assert_int_equal(mcp_cluster_setup_has_parameters(s), 0);
    assert_null(mcp_cluster_setup_warning(s, 0));
    taken(mcp_cluster_setup_begin(s, error));
    refused(mcp_cluster_setup_begin(s, error), MCP_SETUP_DUPLICATE);
    assert_int_equal(mcp_cluster_setup_has_parameters(s), 1);
    taken(say(s, "redis://a"));

    conf = finished(s);
    assert_str_is(conf->prefix, "{mcp}");
    assert_int_equal(conf->sync, MCP_CLUSTER_SYNC_ON);
    assert_int_equal(conf->replicas, 0);
    assert_int_equal(conf->timeout, 1000);
    assert_int_equal(conf->outage_timeout, 5000);
    assert_int_equal(conf->node_timeout, 15000);
    assert_int_equal(conf->tls_verify, 1);
    assert_int_equal(conf->tls, 0);
    assert_int_equal(conf->user.len, 0);
    assert_int_equal(conf->password.len, 0);
    assert_int_equal(conf->label.len, 0);
    assert_int_equal(conf->tls_ca.len, 0);
    mcp_cluster_setup_free(s);
}


static void
options(void **state)
{
    size_t                     i;
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    static const struct {
        mcp_cluster_option_e  option;
        const char           *text, *error;
    } bad[] = {
        { MCP_CLUSTER_TIMEOUT, "x", "\"x\" is not a time from 50ms to 60s" },
        { MCP_CLUSTER_TIMEOUT, "49ms",
          "\"49ms\" is not a time from 50ms to 60s" },
        { MCP_CLUSTER_TIMEOUT, "61s",
          "\"61s\" is not a time from 50ms to 60s" },
        { MCP_CLUSTER_OUTAGE_TIMEOUT, "2h",
          "\"2h\" is not a time from 0ms to 3600s" },
        { MCP_CLUSTER_NODE_TIMEOUT, "999ms",
          "\"999ms\" is not a time from 1000ms to 3600s" },
        { MCP_CLUSTER_VERIFY, "yes", "\"yes\" is neither \"on\" nor \"off\"" },
        { MCP_CLUSTER_CA, "", "the value is empty" }
    };

    (void) state;

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        s = cluster_new();
        refused(option(s, bad[i].option, bad[i].text), bad[i].error);
        mcp_cluster_setup_free(s);
    }

    s = cluster_new();
    taken(say(s, "rediss://a"));
    taken(option(s, MCP_CLUSTER_TIMEOUT, "500ms"));
    taken(option(s, MCP_CLUSTER_OUTAGE_TIMEOUT, "0"));
    taken(option(s, MCP_CLUSTER_NODE_TIMEOUT, "1m"));
    taken(option(s, MCP_CLUSTER_CA, "/ca"));
    taken(option(s, MCP_CLUSTER_CERTIFICATE, "/cert"));
    taken(option(s, MCP_CLUSTER_CERTIFICATE_KEY, "/key"));
    taken(option(s, MCP_CLUSTER_VERIFY, "Off"));
    taken(option(s, MCP_CLUSTER_SERVER_NAME, "redis.example"));
    refused(option(s, MCP_CLUSTER_CA, "/ca"), MCP_SETUP_DUPLICATE);

    conf = finished(s);
    assert_int_equal(conf->timeout, 500);
    assert_int_equal(conf->outage_timeout, 0);
    assert_int_equal(conf->node_timeout, 60000);
    assert_str_is(conf->tls_ca, "/ca");
    assert_str_is(conf->tls_certificate, "/cert");
    assert_str_is(conf->tls_certificate_key, "/key");
    assert_str_is(conf->tls_server_name, "redis.example");
    assert_int_equal(conf->tls_verify, 0);
    mcp_cluster_setup_free(s);

    assert_int_equal(mcp_cluster_option_is_file(MCP_CLUSTER_CA), 1);
    assert_int_equal(mcp_cluster_option_is_file(MCP_CLUSTER_CERTIFICATE), 1);
    assert_int_equal(mcp_cluster_option_is_file(MCP_CLUSTER_CERTIFICATE_KEY),
                     1);
    assert_int_equal(mcp_cluster_option_is_file(MCP_CLUSTER_SERVER_NAME), 0);
    assert_int_equal(mcp_cluster_option_is_file(MCP_CLUSTER_TIMEOUT), 0);
}


static void
replicas(void **state)
{
    size_t                     i;
    char                       text[256];
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    static const char *const  bad[] = {
        "", "replicas", "replicas=", "replicas=0", "replicas=16",
        "replicas=x", "slaves=1"
    };

    (void) state;

    s = cluster_new();
    taken(say(s, "redis://a"));
    taken(replicate(s, "on", "replicas=2"));
    refused(replicate(s, "on", NULL), MCP_SETUP_DUPLICATE);
    conf = finished(s);
    assert_int_equal(conf->sync, MCP_CLUSTER_SYNC_ON);
    assert_int_equal(conf->replicas, 2);
    mcp_cluster_setup_free(s);

    s = cluster_new();
    taken(say(s, "redis://a"));
    taken(replicate(s, "off", NULL));
    conf = finished(s);
    assert_int_equal(conf->sync, MCP_CLUSTER_SYNC_OFF);
    mcp_cluster_setup_free(s);

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        s = cluster_new();
        snprintf(text, sizeof(text), "\"%s\" is not allowed: after \"on\" "
                 "write replicas=N, with N from 1 to 15", bad[i]);
        refused(replicate(s, "on", bad[i]), text);
        mcp_cluster_setup_free(s);
    }

    s = cluster_new();
    refused(replicate(s, "off", "replicas=1"),
            "\"replicas=1\" is not allowed: after \"on\" write replicas=N, "
            "with N from 1 to 15");
    mcp_cluster_setup_free(s);

    s = cluster_new();
    refused(replicate(s, "maybe", NULL),
            "\"maybe\" is neither \"on\" nor \"off\"");
    mcp_cluster_setup_free(s);
}


static void
whole(void **state)
{
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    (void) state;

    s = cluster_new();
    refused(mcp_cluster_setup_finish(s, &conf, error),
            "a URL of Redis is missing: redis://[user@]host[:port][/db], "
            "rediss:// likewise, or unix:/path");
    taken(say(s, "redis://joe@a"));
    refused(mcp_cluster_setup_finish(s, &conf, error),
            "user \"joe\" has no password: set password_file=");
    refused(mcp_cluster_setup_password(s, mcp_str("/p"), mcp_str("\n"), error),
            "the file \"/p\" contains no password");
    taken(mcp_cluster_setup_password(s, mcp_str("/p"), mcp_str(" x y\n\n"),
                                     error));
    taken(option(s, MCP_CLUSTER_CERTIFICATE, "/cert"));
    refused(mcp_cluster_setup_finish(s, &conf, error),
            "set both a certificate and its key (mcp_cluster_certificate, "
            "mcp_cluster_certificate_key)");
    taken(option(s, MCP_CLUSTER_CERTIFICATE_KEY, "/key"));
    assert_str_is(finished(s)->password, " x y");
    mcp_cluster_setup_free(s);
}


static void
takes_over(void **state)
{
    mcp_cluster_setup_t       *s, *outer;
    const mcp_cluster_conf_t  *conf;

    (void) state;

    outer = cluster_new();
    taken(option(outer, MCP_CLUSTER_TIMEOUT, "2s"));
    taken(option(outer, MCP_CLUSTER_OUTAGE_TIMEOUT, "3s"));
    taken(option(outer, MCP_CLUSTER_CA, "/ca"));
    taken(option(outer, MCP_CLUSTER_VERIFY, "off"));
    assert_string_equal(mcp_cluster_setup_warning(outer, 0),
                        "mcp_cluster_timeout");
    assert_string_equal(mcp_cluster_setup_warning(outer, 1),
        "MCPClusterTimeout");
    taken(replicate(outer, "on", "replicas=1"));

    s = cluster_new();
    taken(say(s, "redis://a"));
    taken(option(s, MCP_CLUSTER_OUTAGE_TIMEOUT, "4s"));
    mcp_cluster_setup_merge(s, outer);

    conf = finished(s);
    assert_int_equal(conf->timeout, 2000);
    assert_int_equal(conf->outage_timeout, 4000);
    assert_int_equal(conf->node_timeout, 15000);
    assert_str_is(conf->tls_ca, "/ca");
    assert_int_equal(conf->tls_verify, 0);
    assert_int_equal(conf->replicas, 1);
    mcp_cluster_setup_free(s);

    s = cluster_new();
    taken(say(s, "redis://a"));
    taken(replicate(s, "off", NULL));
    assert_string_equal(mcp_cluster_setup_warning(s, 0), "mcp_cluster_sync");
    assert_string_equal(mcp_cluster_setup_warning(s, 1), "MCPClusterSync");
    mcp_cluster_setup_merge(s, outer);
    conf = finished(s);
    assert_int_equal(conf->sync, MCP_CLUSTER_SYNC_OFF);
    assert_int_equal(conf->replicas, 0);
    mcp_cluster_setup_free(s);

    mcp_cluster_setup_free(outer);
}


/* Each allocation fails once: no leak. */
static void
no_memory(void **state)
{
    int                   rc;
    unsigned              n;
    mcp_cluster_setup_t  *s;

    (void) state;

    for (n = 1; ; n++) {
        tm.fail_at = n;
        s = mcp_cluster_setup_create(&tm.mem);

        if (s == NULL) {
            continue;
        }

        rc = say(s, "redis://joe@a");
        rc = rc ? rc : say(s, "unix:/a");
        rc = rc ? rc : say(s, "prefix=x");
        rc = rc ? rc : say(s, "node=x");
        rc = rc ? rc : mcp_cluster_setup_password(s, mcp_str("/p"),
                                                  mcp_str("x"), error);
        rc = rc ? rc : option(s, MCP_CLUSTER_CA, "/ca");

        mcp_cluster_setup_free(s);

        if (rc == MCP_OK) {
            break;
        }

        assert_int_equal(rc, MCP_ERR_MEMORY);
    }

    assert_true(n > 2);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(defaults), test(options), test(replicas), test(whole),
        test(takes_over), test(no_memory)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
