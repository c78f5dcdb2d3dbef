/* SPDX-License-Identifier: Apache-2.0 */

/* Who reads elsewhere, as the copier hears. */

#include "cluster_streams.h"


/* Redis has lost who reads elsewhere, and nobody says it again: who is missed
 * for a while has left. */
static void
test_missed(void **state)
{
    needs_redis();

    begin_all(2);
    make(0, 'a');
    add_events(0, 'a', 1);
    UNTIL(copying(0, 'a').acked.seq == 1);
    come(1, 'a', 0, 's');
    UNTIL(copying(0, 'a').consumer_slot == MCP_STORE_REMOTE);
    assert_int_equal(copying(0, 'a').reader, 2);

    end(1);
    (void) command(0, "FLUSHALL");
    add_events(0, 'a', 1);
    UNTIL(copying(0, 'a').acked.seq == 2);
    assert_string_equal(about(0, "HGET", 'h', 'a', "w"), "1");
    UNTIL(copying(0, 'a').consumer_slot == MCP_STORE_NO_SLOT);
    assert_int_not_equal(info_of(0, 'a').unattended, 0);
    end_all();
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_missed)
    };

    return cmocka_run_group_tests(tests, start, stop);
}
