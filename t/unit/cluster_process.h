/* SPDX-License-Identifier: Apache-2.0 */

/* The fixture of tests with one process of a cluster without a Redis
 * server. */


#ifndef CLUSTER_PROCESS_H_INCLUDED
#define CLUSTER_PROCESS_H_INCLUDED


#include "cluster_driver.h"


static process_t  p;


static inline int
setup_process(void **state)
{
    process_init(&p, NULL, 0);

    return 0;
}


static inline int
teardown_process(void **state)
{
    process_free(&p);

    return 0;
}


#endif /* CLUSTER_PROCESS_H_INCLUDED */
