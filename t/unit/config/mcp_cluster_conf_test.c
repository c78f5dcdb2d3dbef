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


TEST(cluster_without_options_has_the_defaults)
{
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

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
}


TEST(cluster_options_are_read_and_invalid_ones_are_rejected)
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

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        s = cluster_new();
        refused(option(s, bad[i].option, bad[i].text), bad[i].error);
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

    assert_int_equal(mcp_cluster_option_is_file(MCP_CLUSTER_CA), 1);
    assert_int_equal(mcp_cluster_option_is_file(MCP_CLUSTER_CERTIFICATE), 1);
    assert_int_equal(mcp_cluster_option_is_file(MCP_CLUSTER_CERTIFICATE_KEY),
                     1);
    assert_int_equal(mcp_cluster_option_is_file(MCP_CLUSTER_SERVER_NAME), 0);
    assert_int_equal(mcp_cluster_option_is_file(MCP_CLUSTER_TIMEOUT), 0);
}


TEST(number_of_replicas_outside_1_to_15_is_rejected)
{
    size_t                     i;
    char                       text[256];
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    static const char *const  bad[] = {
        "", "replicas", "replicas=", "replicas=0", "replicas=16",
        "replicas=x", "slaves=1"
    };

    s = cluster_new();
    taken(say(s, "redis://a"));
    taken(replicate(s, "on", "replicas=2"));
    refused(replicate(s, "on", NULL), MCP_SETUP_DUPLICATE);
    conf = finished(s);
    assert_int_equal(conf->sync, MCP_CLUSTER_SYNC_ON);
    assert_int_equal(conf->replicas, 2);

    s = cluster_new();
    taken(say(s, "redis://a"));
    taken(replicate(s, "off", NULL));
    conf = finished(s);
    assert_int_equal(conf->sync, MCP_CLUSTER_SYNC_OFF);

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        s = cluster_new();
        snprintf(text, sizeof(text), "\"%s\" is not allowed: after \"on\" "
                 "write replicas=N, with N from 1 to 15", bad[i]);
        refused(replicate(s, "on", bad[i]), text);
    }

    s = cluster_new();
    refused(replicate(s, "off", "replicas=1"),
            "\"replicas=1\" is not allowed: after \"on\" write replicas=N, "
            "with N from 1 to 15");

    s = cluster_new();
    refused(replicate(s, "maybe", NULL),
            "\"maybe\" is neither \"on\" nor \"off\"");
}


TEST(incomplete_cluster_settings_are_rejected)
{
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    s = cluster_new();
    refused(mcp_cluster_setup_finish(s, &conf, 0, error),
            "a Redis URL is missing: write redis://[user@]host[:port][/db], "
            "rediss:// likewise, or unix:/path");
    taken(say(s, "redis://joe@a"));
    refused(mcp_cluster_setup_finish(s, &conf, 0, error),
            "user \"joe\" has no password: set password_file=");
    refused(mcp_cluster_setup_password(s, mcp_str("/p"), mcp_str("\n"), error),
            "the file \"/p\" contains no password");
    taken(mcp_cluster_setup_password(s, mcp_str("/p"), mcp_str(" x y\n\n"),
                                     error));
    taken(option(s, MCP_CLUSTER_CERTIFICATE, "/cert"));
    refused(mcp_cluster_setup_finish(s, &conf, 0, error),
            "only one of mcp_cluster_certificate and "
            "mcp_cluster_certificate_key is set: set both");
    refused(mcp_cluster_setup_finish(s, &conf, 1, error),
            "only one of MCPClusterCertificate and MCPClusterCertificateKey "
            "is set: set both");
    taken(option(s, MCP_CLUSTER_CERTIFICATE_KEY, "/key"));
    assert_str_is(finished(s)->password, " x y");
}


TEST(section_inherits_the_cluster_options_that_it_does_not_set)
{
    mcp_cluster_setup_t       *s, *outer;
    const mcp_cluster_conf_t  *conf;

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

    s = cluster_new();
    taken(say(s, "redis://a"));
    taken(replicate(s, "off", NULL));
    assert_string_equal(mcp_cluster_setup_warning(s, 0), "mcp_cluster_sync");
    assert_string_equal(mcp_cluster_setup_warning(s, 1), "MCPClusterSync");
    mcp_cluster_setup_merge(s, outer);
    conf = finished(s);
    assert_int_equal(conf->sync, MCP_CLUSTER_SYNC_OFF);
    assert_int_equal(conf->replicas, 0);
}


/* Each allocation fails once: no leak. */
TEST(memory_runs_out__the_setup_of_a_cluster_fails)
{
    int                   rc;
    unsigned              n;
    mcp_cluster_setup_t  *s;

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


#define URL_FORM                                                              \
    "redis://[user@]host[:port][/db], rediss:// likewise, or unix:/path"

#define NO_URL  " is not a Redis URL: write " URL_FORM


TEST(urls_of_redis_are_read_into_host_and_port_and_database_and_user)
{
    size_t                     i;
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    static const struct {
        const char  *url, *host, *path, *user;
        unsigned     port, db, tls;
    } good[] = {
        { "redis://a", "a", "", "", 6379, 0, 0 },
        { "redis://a/", "a", "", "", 6379, 0, 0 },
        { "redis://10.0.0.1:1", "10.0.0.1", "", "", 1, 0, 0 },
        { "redis://a.example:65535/7", "a.example", "", "", 65535, 7, 0 },
        { "redis://joe@a:7000/65535", "a", "", "joe", 7000, 65535, 0 },
        { "rediss://a", "a", "", "", 6379, 0, 1 },
        { "rediss://joe@[2001:db8::1]:6380", "2001:db8::1", "", "joe", 6380,
          0, 1 },
        { "redis://[::1]", "::1", "", "", 6379, 0, 0 },
        { "unix:/run/redis.sock", "", "/run/redis.sock", "", 0, 0, 0 }
    };

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        s = cluster_new();
        taken(say(s, good[i].url));

        if (good[i].user[0]) {
            taken(mcp_cluster_setup_password(s, mcp_str("/p"), mcp_str("x"),
                                             error));
        }

        conf = finished(s);
        assert_int_equal(conf->n_seeds, 1);
        assert_str_is(conf->seeds[0].host, good[i].host);
        assert_str_is(conf->seeds[0].path, good[i].path);
        assert_str_is(conf->user, good[i].user);
        assert_int_equal(conf->seeds[0].port, good[i].port);
        assert_int_equal(conf->db, good[i].db);
        assert_int_equal(conf->seeds[0].tls, good[i].tls);
        assert_int_equal(conf->tls, good[i].tls);
    }
}


TEST(invalid_urls_of_redis_are_rejected_with_the_reason)
{
    char                  text[512], path[256];
    size_t                i;
    mcp_cluster_setup_t  *s;

    static const char *const  bad[] = {
        "", "a", "a:6379", "http://a", "Redis://a", "redis:a", "redis:/a",
        "unix:", "prefix"
    };

    static const char *const  ports[] = {
        "redis://", "redis:///1", "redis://:6379", "redis://a:0",
        "redis://a:65536", "redis://a:x", "redis://a:-1", "redis://[::1",
        "redis://[]", "redis://@a", "redis://a b", "redis://a:1:2",
        "rediss://a\n", "redis://a?db=1"
    };

    s = cluster_new();

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), "\"%s\"" NO_URL, bad[i]);
        refused(say(s, bad[i]), text);
    }

    for (i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        snprintf(text, sizeof(text), "\"%s\"" NO_URL ", ports from 1 to 65535",
                 ports[i]);
        refused(say(s, ports[i]), text);
    }

    refused(say(s, "unix:run"), "\"unix:run\" is not \"unix:\" followed by "
            "an absolute path of at most 107 bytes");

    memset(path, 'a', sizeof(path));
    memcpy(path, "unix:/", 6);
    path[5 + 107] = '\0';
    taken(say(s, path));
    path[5 + 107] = 'a';
    path[5 + 108] = '\0';
    assert_int_equal(say(s, path), MCP_ERR_CONFIG);

    refused(say(s, "redis://joe:secret@a"),
            "a password is not allowed in a URL or in user=: write the password into a file and set "
            "password_file=");
    refused(say(s, "redis://a/x"), "\"x\" is not the number of a database "
                                   "from 0 to 65535");
    refused(say(s, "redis://a/65536"),
            "\"65536\" is not the number of a database from 0 to 65535");
}


TEST(up_to_16_urls_of_redis_are_accepted)
{
    int                        i;
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    s = cluster_new();

    for (i = 0; i < MCP_CLUSTER_SEEDS; i++) {
        taken(say(s, i ? "redis://a" : "rediss://b:1/3"));
    }

    refused(say(s, "redis://a"), "more than 16 Redis URLs are not allowed");

    conf = finished(s);
    assert_int_equal(conf->n_seeds, MCP_CLUSTER_SEEDS);
    assert_int_equal(conf->db, 3);
    assert_int_equal(conf->tls, 1);
    assert_int_equal(conf->seeds[1].tls, 0);

    /* several URLs are accepted only if they have the same user and the same
     * database */

    s = cluster_new();
    taken(say(s, "redis://joe@a/3"));
    taken(say(s, "redis://joe@b/3"));
    taken(say(s, "user=joe"));
    taken(say(s, "db=3"));
    refused(say(s, "redis://jim@b/3"), "the URLs and user= contain two different users, "
                                       "\"joe\" and \"jim\": use only one");
    refused(say(s, "redis://b/4"), "the URLs and db= contain two different "
                                   "databases, 3 and 4: use only one");
}


TEST(cluster_parameters_are_read_and_invalid_ones_are_rejected)
{
    mcp_str_t                  file;
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    s = cluster_new();
    taken(say(s, "redis://a"));
    taken(say(s, "redis://b:1"));
    taken(say(s, "sentinel=main"));
    taken(say(s, "prefix=mine"));
    taken(say(s, "db=2"));
    taken(say(s, "user=joe"));
    taken(say(s, "node=web-1"));
    taken(mcp_cluster_setup_parameter(s, mcp_str("password_file=redis.pass"),
                                      &file, error));
    assert_str_is(file, "redis.pass");
    taken(mcp_cluster_setup_password(s, file, mcp_str("secret\r\n"), error));

    taken(say(s, "sentinel_user=watch"));
    taken(mcp_cluster_setup_parameter(s,
              mcp_str("sentinel_password_file=sentinel.pass"), &file, error));
    assert_str_is(file, "sentinel.pass");
    taken(mcp_cluster_setup_password(s, file, mcp_str("other\n"), error));

    conf = finished(s);
    assert_str_is(conf->sentinel, "main");
    assert_str_is(conf->sentinel_user, "watch");
    assert_str_is(conf->sentinel_password, "other");
    assert_str_is(conf->prefix, "{mine}");
    assert_str_is(conf->user, "joe");
    assert_str_is(conf->password, "secret");
    assert_str_is(conf->label, "web-1");
    assert_int_equal(conf->db, 2);
    assert_int_equal(conf->seeds[0].port, 26379);
    assert_int_equal(conf->seeds[1].port, 1);

    refused(say(s, "prefix=x"), "prefix= is set twice");
    refused(say(s, "node=x"), "node= is set twice");

    s = cluster_new();
    refused(say(s, "sentinel="), "\"\" is not a name of 1 to 64 printable "
                                 "ASCII characters without spaces");
    refused(say(s, "node=a b"), "\"a b\" is not a name of 1 to 64 printable "
                                "ASCII characters without spaces");
    refused(say(s, "user="), "\"\" is not a user name of 1 to 64 printable "
                             "characters without spaces");
    refused(say(s, "db="), "\"\" is not the number of a database from 0 to "
                           "65535");
    refused(say(s, "password_file="), "password_file= is empty: write the name of a file");
    refused(say(s, "sentinel_password_file="),
            "sentinel_password_file= is empty: write the name of a file");
    refused(say(s, "sentinel_user=a b"), "\"a b\" is not a name of 1 to 64 "
                                         "printable ASCII characters without "
                                         "spaces");
}


TEST(sentinel_user_needs_a_password_and_a_sentinel_password_needs_a_sentinel)
{
    mcp_str_t                  file;
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    s = cluster_new();
    taken(say(s, "redis://a"));
    taken(say(s, "sentinel=main"));
    taken(say(s, "sentinel_user=watch"));
    refused(mcp_cluster_setup_finish(s, &conf, 0, error),
            "sentinel_user=watch has no password: set "
            "sentinel_password_file=");

    s = cluster_new();
    taken(say(s, "redis://a"));
    taken(mcp_cluster_setup_parameter(s, mcp_str("sentinel_password_file=p"),
                                      &file, error));
    taken(mcp_cluster_setup_password(s, file, mcp_str("secret"), error));
    refused(mcp_cluster_setup_finish(s, &conf, 0, error),
            "sentinel_password_file= has no effect: set sentinel=");
}


TEST(prefix_without_braces_gets_braces_and_an_invalid_prefix_is_rejected)
{
    char                       text[256];
    size_t                     i;
    mcp_cluster_setup_t       *s;
    const mcp_cluster_conf_t  *conf;

    static const char *const  good[][2] = {
        { "mcp", "{mcp}" }, { "{mcp}", "{mcp}" }, { "a:{b}", "a:{b}" },
        { "a:{b}c", "a:{b}c" }
    };

    static const char *const  bad[] = {
        "", "a b", "{}", "a{", "a}", "}{", "{}a", "\x7f", "a\xc3\xa4"
    };

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        s = cluster_new();
        taken(say(s, "unix:/a"));
        snprintf(text, sizeof(text), "prefix=%s", good[i][0]);
        taken(say(s, text));
        conf = finished(s);
        assert_str_is(conf->prefix, good[i][1]);
    }

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        s = cluster_new();
        snprintf(text, sizeof(text), "prefix=%s", bad[i]);
        assert_int_equal(say(s, text), MCP_ERR_CONFIG);
        snprintf(text, sizeof(text), "\"%s\" is not a prefix: ", bad[i]);
        assert_int_equal(strncmp(error, text, strlen(text)), 0);
    }
}


/* Returns the number of warnings that contain this text. */
static unsigned
idle(const mcp_cluster_setup_t *s, int tls, int apache, const char *with)
{
    char      text[MCP_SETUP_ERROR_MAX];
    unsigned  n, position;

    n = 0;
    position = 0;

    while (mcp_cluster_setup_idle(s, tls, apache, &position, text)) {
        n += strstr(text, with) != NULL;
    }

    return n;
}


TEST(cluster_options_without_effect_are_reported)
{
    mcp_cluster_setup_t  *s;

    s = cluster_new();
    taken(option(s, MCP_CLUSTER_TIMEOUT, "2s"));
    assert_int_equal(idle(s, 0, 0, ""), 0);

    taken(option(s, MCP_CLUSTER_CA, "/ca"));
    taken(option(s, MCP_CLUSTER_CERTIFICATE, "/cert"));
    taken(option(s, MCP_CLUSTER_CERTIFICATE_KEY, "/key"));
    taken(option(s, MCP_CLUSTER_SERVER_NAME, "a"));
    assert_int_equal(idle(s, 1, 0, ""), 0);
    assert_int_equal(idle(s, 0, 1, "no URL of MCPCluster begins with"), 4);

    taken(option(s, MCP_CLUSTER_VERIFY, "off"));
    assert_int_equal(idle(s, 0, 0, "no URL of"), 5);
    assert_int_equal(idle(s, 0, 0, "\"mcp_cluster_ca\" has no effect: no"), 1);
    assert_int_equal(idle(s, 1, 0, "\"mcp_cluster_ca\" has no effect: "
                                   "\"mcp_cluster_verify\" is off"), 1);
    assert_int_equal(idle(s, 1, 1, ""), 1);
}


RUN_TESTS(init, done)
