/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A FastCGI tool in C that reports progress.  Build it with "cc -o tool tool.c
 * -lfcgi", and run it with spawn-fcgi, like examples/perl/tools.pl.
 */

#include <fcgi_stdio.h>
#include <stdlib.h>


int
main(void)
{
    const char  *token;

    while (FCGI_Accept() >= 0) {
        token = getenv("MCP_PROGRESS_TOKEN");

        printf("Content-Type: application/x-ndjson\r\n\r\n");

        if (token && *token) {

            /* the token is already JSON */

            printf("{\"jsonrpc\":\"2.0\","
                   "\"method\":\"notifications/progress\","
                   "\"params\":{\"progressToken\":%s,\"progress\":1}}\n",
                   token);
            fflush(stdout);
        }

        printf("{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}\n");
    }

    return 0;
}
