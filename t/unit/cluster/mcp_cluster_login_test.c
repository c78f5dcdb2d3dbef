/* SPDX-License-Identifier: Apache-2.0 */

/* The login on a link: its commands, and replies that end it. */

#include "cluster_process.h"


#define FOREIGN  "the reply does not come from Redis: check the address"


TEST(login_succeeds__the_digests_of_the_scripts_are_stored)
{
    process_connect(&p);
    assert_int_equal(p.te.logged, 1);
    assert_string_equal(p.te.info, "cluster: connected to one:6379");
    assert_memory_equal(p.cluster->script[MCP_SCRIPT_REGISTER],
                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 40);
    assert_memory_equal(p.cluster->script[MCP_SCRIPT_HEARTBEAT],
                        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 40);
}


TEST(user_and_password_and_database_are_sent_in_the_login)
{
    p.conf.password = mcp_str("secret");
    p.conf.db = 3;
    process_start(&p);
    process_open(&p);
    assert_command(&p, "HELLO 2 AUTH default secret");
    assert_command(&p, "SELECT 3");
    assert_command(&p, "ROLE");
    process_receive(&p, GOOD_HELLO "+OK\r\n" GOOD_ROLE GOOD_INFO GOOD_SHAS);
    assert_int_equal(p.cluster->link.state, MCP_LINK_UP);

    process_lose(&p, "gone");
    p.conf.user = mcp_str("me");
    process_wait(&p, 101);
    process_open(&p);
    assert_command(&p, "HELLO 2 AUTH me secret");
}


/* A reply that ends the login: the log gets one line with the reason. */
TEST(reply_of_redis_ends_the_login__the_log_gets_one_line_with_the_reason)
{
    char      line[256];
    unsigned  i;

    static const struct {
        const char  *says;
        const char  *line;
    } bad[] = {
        { "-WRONGPASS invalid username-password pair\r\n",
          "HELLO: WRONGPASS invalid username-password pair" },
        { "-ERR unknown command `HELLO`, with args beginning with: `2` "
          "`AUTH` `me` `secret`, \r\n",
          "HELLO: ERR unknown command `HELLO`" },
        { "-NOAUTH HELLO must be called with the client already "
          "authenticated\r\n",
          "NOAUTH HELLO must be called with the client already "
          "authenticated" },
        { "+OK\r\n", "HELLO: " FOREIGN },
        { "*0\r\n", "HELLO: " FOREIGN },
        { "*2\r\n$7\r\nversion\r\n:7\r\n", "HELLO: " FOREIGN },
        { "*1\r\n$7\r\nversion\r\n", "HELLO: " FOREIGN },
        { "*2\r\n$7\r\nversion\r\n$5\r\n6.0.9\r\n",
          "the version of Redis is 6.0.9, but at least 6.2 is required" },
        { "*2\r\n$7\r\nversion\r\n$5\r\n5.9.9\r\n",
          "the version of Redis is 5.9.9, but at least 6.2 is required" },
        { "*2\r\n$7\r\nversion\r\n$5\r\nx.y.z\r\n",
          "the version of Redis is x.y.z, but at least 6.2 is required" },
        { GOOD_HELLO "-ERR DB index is out of range\r\n",
          "SELECT: ERR DB index is out of range" },
        { GOOD_HELLO "+OK\r\n*5\r\n$5\r\nslave\r\n$1\r\na\r\n:1\r\n$1\r\na\r\n"
          ":1\r\n",
          "this Redis server is not a master (its role is \"slave\"): write "
          "the URL of the master, or set sentinel=" },
        { GOOD_HELLO "+OK\r\n:1\r\n",
          "this Redis server is not a master (its role is \"\"): write the URL "
          "of the master, or set sentinel=" },
        { GOOD_HELLO "+OK\r\n-NOPERM this user has no permissions\r\n",
          "ROLE: NOPERM this user has no permissions: Redis's user \"default\" "
          "needs the rules ~{mcp}:* +@all -@admin -@dangerous +info +role" },
        { GOOD_HELLO "+OK\r\n" GOOD_ROLE GOOD_INFO "-ERR no\r\n",
          "SCRIPT LOAD: ERR no" },
        { GOOD_HELLO "+OK\r\n" GOOD_ROLE GOOD_INFO "$3\r\nabc\r\n",
          "SCRIPT LOAD: " FOREIGN },
        { GOOD_HELLO "+OK\r\n" GOOD_ROLE GOOD_INFO "+OK\r\n",
          "SCRIPT LOAD: " FOREIGN },
    };

    p.conf.db = 3;
    process_start(&p);

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        p.te.last[0] = '\0';
        mcp_store_node_insist(&p.store);
        process_open(&p);
        process_receive(&p, bad[i].says);
        assert_int_equal(p.cluster->link.state, MCP_LINK_DOWN);
        assert_int_equal(p.disconnects, i + 1);
        snprintf(line, sizeof(line), "cluster: one:6379: %s", bad[i].line);
        assert_string_equal(p.te.last, line);
        mcp_cluster_destroy(p.cluster);
        p.cluster = NULL;
        process_start(&p);
    }
}


/* Redis may evict keys: a warning. The Redis user has no right to INFO: no
 * warning. */
TEST(redis_may_evict_keys__a_warning_is_logged_unless_command_info_is_denied)
{
    process_start(&p);
    process_open(&p);
    process_receive(&p, GOOD_HELLO GOOD_ROLE
                    "$30\r\nmaxmemory_policy:allkeys-lru\r\n\r\n" GOOD_SHAS);
    assert_int_equal(p.cluster->link.state, MCP_LINK_UP);
    assert_string_equal(p.te.last, "cluster: Redis at one:6379 may evict keys: "
                                   "set maxmemory-policy in Redis to "
                                   "noeviction");

    process_lose(&p, "gone");
    process_wait(&p, 101);
    p.te.last[0] = '\0';
    process_open(&p);
    process_receive(&p, GOOD_HELLO GOOD_ROLE "-NOPERM no\r\n" GOOD_SHAS);
    assert_int_equal(p.cluster->link.state, MCP_LINK_UP);
    assert_null(strstr(p.te.last, "evict"));
}


/* The seeds are Sentinels: one returns the address of the master, and a
 * Sentinel is queried again for each new link. */
TEST(sentinel_is_queried_for_the_master_before_each_new_link)
{
    p.conf.sentinel = mcp_str("main");
    p.conf.password = mcp_str("secret");
    p.conf.n_seeds = 2;
    p.conf.seeds[1].path = mcp_str("/run/sentinel");

    process_start(&p);
    process_open(&p);
    assert_command(&p, "SENTINEL get-master-addr-by-name main");
    assert_command(&p, "");
    process_receive(&p, "*2\r\n$8\r\n10.0.0.7\r\n$4\r\n6380\r\n");
    assert_int_equal(p.disconnects, 1);
    process_wait(&p, 0);
    assert_str_is(mcp_link_target(p.link)->host, "10.0.0.7");
    assert_int_equal(mcp_link_target(p.link)->port, 6380);

    process_open(&p);
    assert_command(&p, "HELLO 2 AUTH default secret");
    process_receive(&p, GOOD_ALL);
    assert_int_equal(p.cluster->link.state, MCP_LINK_UP);

    /* the server is a replica by now: the next Sentinel is queried, which has
     * a Unix socket */

    process_receive(&p,
                "-READONLY You can't write against a read only replica.\r\n");
    process_wait(&p, 101);
    assert_int_equal(mcp_link_target(p.link)->host.len, 0);
    assert_str_is(mcp_link_target(p.link)->path, "/run/sentinel");
    process_open(&p);
    assert_command(&p, "SENTINEL get-master-addr-by-name main");
    process_receive(&p, "*-1\r\n");
    assert_string_equal(p.te.info, "cluster: /run/sentinel: Sentinel has no "
                                   "master with this name: correct sentinel=");

    process_wait(&p, 201);
    process_open(&p);
    process_receive(&p, "*1\r\n$1\r\na\r\n");
    assert_string_equal(p.te.info, "cluster: one:6379: SENTINEL: " FOREIGN);

    process_wait(&p, 201);
    process_open(&p);
    process_receive(&p, "-ERR unknown command\r\n");
    assert_string_equal(p.te.info, "cluster: /run/sentinel: SENTINEL: ERR "
                                   "unknown command");
}


/* The Sentinel requires a password, which Redis does not get, nor the Sentinel
 * the password of Redis. */
TEST(sentinel_and_redis_each_get_only_their_own_password)
{
    p.conf.sentinel = mcp_str("main");
    p.conf.sentinel_password = mcp_str("watch");
    p.conf.password = mcp_str("secret");

    process_start(&p);
    process_open(&p);
    assert_command(&p, "AUTH watch");
    assert_command(&p, "SENTINEL get-master-addr-by-name main");
    assert_command(&p, "");
    process_receive(&p, "+OK\r\n*2\r\n$8\r\n10.0.0.7\r\n$4\r\n6380\r\n");
    process_wait(&p, 0);
    process_open(&p);
    assert_command(&p, "HELLO 2 AUTH default secret");
    process_lose(&p, "gone");

    p.conf.sentinel_user = mcp_str("mcp");
    process_wait(&p, 101);
    process_open(&p);
    assert_command(&p, "AUTH mcp watch");
    process_receive(&p, "-WRONGPASS invalid password\r\n"
                        "-NOAUTH Authentication required.\r\n");
    assert_non_null(strstr(p.te.last, "one:6379: AUTH: WRONGPASS invalid "
                                      "password"));

    p.conf.sentinel_password = mcp_null_str;
    process_wait(&p, 201);
    process_open(&p);
    assert_command(&p, "SENTINEL get-master-addr-by-name main");
    process_receive(&p, "-NOAUTH Authentication required.\r\n");
    assert_string_equal(p.te.info, "cluster: one:6379: NOAUTH Authentication "
                                   "required. Set sentinel_password_file=");
}


RUN_TESTS(setup_process, teardown_process)
