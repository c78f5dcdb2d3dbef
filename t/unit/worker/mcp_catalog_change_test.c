/* SPDX-License-Identifier: Apache-2.0 */

/* Configurations that succeed each other: notifications about changed lists,
 * and the exit of processes that stop. */

#define DRIVER_NODES  3

#include "core_cases.h"


#define TOOLS    "{\"tools\":[{\"name\":\"a\",\"inputSchema\":"              \
                 "{\"type\":\"object\"}}]"
#define PROMPTS  ",\"prompts\":[{\"name\":\"p\"}]"
#define RESOURCES  ",\"resources\":[{\"uri\":\"a:b\",\"name\":\"r\"}]"
#define TEMPLATES  ",\"resourceTemplates\":[{\"uriTemplate\":\"a:{b}\","    \
                   "\"name\":\"t\"}]"

#define LIST(name)  "\"method\":\"notifications/" name "/list_changed\"}"


/* Makes both processes begin with a new configuration of the endpoint. */
static void
reload(uint32_t number, const char *text)
{
    char            error[256];
    unsigned        i;
    mcp_catalog_t  *catalog;

    catalog = NULL;

    if (text) {
        assert_ok(mcp_catalog_create(&d.te.env.mem, test_str(text), &catalog,
                                     error, sizeof(error)));
    }

    d.endpoint.catalog = catalog;

    for (i = 0; i < 2; i++) {
        mcp_worker_begin(d.process[i].worker, number);
        mcp_worker_offer(d.process[i].worker, &d.endpoint);
        mcp_worker_begun(d.process[i].worker);
    }

    d.endpoint.catalog = NULL;
    mcp_catalog_free(catalog);
    driver_pump(&d);
}


/* Checks how many notifications about each list the listener has received
 * since the last call of this function. */
static void
received(int tools, int prompts, int resources)
{
    static int  before[3];
    static int  now[3];

    now[0] = count(a.text, LIST("tools"));
    now[1] = count(a.text, LIST("prompts"));
    now[2] = count(a.text, LIST("resources"));

    assert_int_equal(now[0] - before[0], tools);
    assert_int_equal(now[1] - before[1], prompts);
    assert_int_equal(now[2] - before[2], resources);

    memcpy(before, now, sizeof(now));
}


TEST(listener_is_notified_only_of_lists_whose_public_content_has_changed)
{
    uint64_t       values;
    unsigned char  place;

    d.endpoint.catalog_key[0] = 1;
    client_resume(&d, 0, &a, session, NULL);
    values = stats().values;

    reload(1, TOOLS PROMPTS "}");
    received(0, 0, 0);
    reload(2, TOOLS PROMPTS "}");
    received(0, 0, 0);

    /* the catalog has another spelling, or changes that clients cannot see: no
     * notification */

    reload(3, "{\"prompts\":[{\"name\" : \"\\u0070\",\"x-mcp-stream-after\":1}],"
              "\"instructions\":\"new\","
              "\"tools\":[{\"inputSchema\":{\"type\":\"object\"},"
              "\"name\":\"a\"}]}");
    received(0, 0, 0);

    reload(4, TOOLS PROMPTS RESOURCES "}");
    received(0, 0, 1);
    reload(5, TOOLS PROMPTS RESOURCES TEMPLATES "}");
    received(0, 0, 1);
    reload(6, TOOLS ",\"prompts\":[]" TEMPLATES "}");
    received(0, 1, 1);
    reload(7, TOOLS TEMPLATES "}");
    received(0, 1, 0);
    reload(8, NULL);
    received(1, 1, 1);
    reload(9, NULL);
    received(0, 0, 0);

    /* lists of other endpoints change: the listener gets no notification */

    for (place = 2; place < 200; place++) {
        d.endpoint.catalog_key[0] = place;
        reload(10, TOOLS "}");
        reload(11, NULL);
    }

    received(0, 0, 0);
    assert_int_equal(stats().values, values);
}


static void
begin(unsigned process, uint32_t number)
{
    mcp_worker_begin(d.process[process].worker, number);
    mcp_worker_begun(d.process[process].worker);
}


static void
leaves(unsigned process, int leaving)
{
    driver_wait(&d, 100);
    assert_int_equal(d.process[process].worker->leaving, leaving);
}


/* A process that stops exits as soon as the processes of the next configuration
 * have sent all notifications, and after five seconds at the latest. */
TEST(stopping_worker_waits_up_to_five_seconds_for_the_next_configuration)
{
    begin(0, 1);
    begin(1, 1);

    mcp_worker_stop(d.process[0].worker, 0);
    assert_int_equal(d.process[0].worker->stopping, 1);
    driver_wait(&d, 900);
    leaves(0, 0);
    begin(1, 1);
    leaves(0, 0);

    /* a process of configuration 2 dies before it has sent all
     * notifications, and the other one cannot know that: the stopping process
     * does not exit */

    mcp_worker_begin(d.process[1].worker, 2);
    leaves(0, 0);
    begin(2, 2);
    leaves(0, 0);
    driver_restart(&d, 1);

    mcp_worker_begin(d.process[1].worker, 3);
    leaves(0, 0);
    mcp_worker_begun(d.process[1].worker);
    leaves(0, 1);
    driver_restart(&d, 0);

    begin(0, 3);
    mcp_worker_stop(d.process[0].worker, 0);
    driver_wait(&d, 4000);
    mcp_worker_stop(d.process[0].worker, 0);
    driver_wait(&d, 850);
    leaves(0, 0);
    leaves(0, 1);
    driver_restart(&d, 0);

    begin(0, 3);
    mcp_worker_stop(d.process[0].worker, 0);
    assert_int_equal(d.process[0].worker->leaving, 0);
    mcp_worker_stop(d.process[0].worker, 1);
    assert_int_equal(d.process[0].worker->leaving, 1);
    driver_restart(&d, 0);
}


TEST(two_processes_announce_changes__the_stopping_worker_exits_after_both)
{
    begin(0, 1);
    mcp_worker_stop(d.process[0].worker, 0);

    mcp_worker_begin(d.process[1].worker, 2);
    mcp_worker_begin(d.process[2].worker, 2);
    mcp_worker_begun(d.process[1].worker);
    leaves(0, 0);
    mcp_worker_begun(d.process[2].worker);
    leaves(0, 1);
    driver_restart(&d, 0);
}


TEST(process_announcing_changes_dies__its_restart_lets_a_stopping_worker_exit)
{
    begin(0, 1);
    mcp_worker_stop(d.process[0].worker, 0);

    mcp_worker_begin(d.process[1].worker, 2);
    driver_restart(&d, 1);
    begin(1, 2);
    leaves(0, 1);
    driver_restart(&d, 0);
}


RUN_TESTS(setup, teardown)
