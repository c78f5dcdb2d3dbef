/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_lock.c: mutual exclusion of processes, and the death of the lock's
 * holder. */


#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_env.h"

#include "store/mcp_lock.h"


typedef struct {
    _Alignas(64) char  lock[MCP_LOCK_SIZE];
    volatile long      n;
    volatile int       ready;
} shared_t;


static shared_t *
shared_new(void)
{
    shared_t  *s;

    s = mmap(NULL, sizeof(shared_t), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(s != MAP_FAILED);
    assert_ok(mcp_lock_init(s->lock));

    return s;
}


TEST(four_processes_count_under_the_lock__no_increment_is_lost)
{
    int        i, k, status;
    shared_t  *s;

    s = shared_new();

    for (i = 0; i < 4; i++) {
        if (fork() == 0) {
            for (k = 0; k < 20000; k++) {
                if (mcp_lock(s->lock) != MCP_OK) {
                    _exit(1);
                }

                s->n = s->n + 1;
                mcp_unlock(s->lock);
            }

            _exit(0);
        }
    }

    for (i = 0; i < 4; i++) {
        wait(&status);
        assert_int_equal(status, 0);
    }

    assert_int_equal(s->n, 80000);
    munmap(s, sizeof(shared_t));
}


TEST(holder_of_a_lock_is_killed__locking_it_again_returns_that_repair_is_needed)
{
    int        i;
    pid_t      pid;
    shared_t  *s;

    s = shared_new();

    for (i = 0; i < 3; i++) {
        s->ready = 0;
        pid = fork();

        if (pid == 0) {
            /* the first child gets a lock without a dead holder; for each
             * later child, the holder was killed, and mcp_lock() returns
             * MCP_AGAIN: the caller has to repair */
            if (mcp_lock(s->lock) != (i ? MCP_AGAIN : MCP_OK)) {
                _exit(1);
            }

            s->ready = 1;
            pause();
            _exit(1);
        }

        while (!s->ready) {
            usleep(100);
        }

        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }

    assert_int_equal(mcp_lock(s->lock), MCP_AGAIN);
    mcp_unlock(s->lock);
    assert_ok(mcp_lock(s->lock));
    mcp_unlock(s->lock);

    munmap(s, sizeof(shared_t));
}


RUN_TESTS(NULL, NULL)
