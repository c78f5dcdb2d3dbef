/* SPDX-License-Identifier: Apache-2.0 */

/* What the tests of streams with a URL have in common. */


#ifndef LINK_CASES_H_INCLUDED
#define LINK_CASES_H_INCLUDED


#include "face_cases.h"


static char  url[1024];


static inline void
begin(const char *revision)
{
    d.endpoint.link = 1;
    client_open(&d, session, revision, ALL);
}


/* The target in a Link header, NULL without one. */
static inline const char *
link_of(client_t *client, char *out)
{
    char        *end;
    const char  *value, *start;

    value = client_answer_header(client, "Link");

    if (value == NULL) {
        return NULL;
    }

    start = strstr(value, "://");
    assert_non_null(start);
    start = strchr(start + 3, '/');
    strcpy(out, start);
    end = strchr(out, '>');
    assert_non_null(end);
    assert_string_equal(end, ">; rel=\"stream\"");
    *end = '\0';

    return value;
}


#endif /* LINK_CASES_H_INCLUDED */
