/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Checks the keys of all scripts that a Redis server runs. A separate process
 * reads the output of MONITOR:
 *
 *     1700000000.1 [0 unix:/tmp/s] "EVALSHA" "SHA" "2" "KEY" "KEY" "ARGUMENT"
 *     1700000000.1 [0 lua] "EXISTS" "KEY"
 *
 * A script may only use a key that is not in its KEYS if a node cannot know the
 * key's name: it contains an id or a digest, and the script did not get that as
 * an argument. The keys n:, x: and m: of a node are excepted, because the node
 * that the script finds may be the one that runs it.
 */


#ifndef CLUSTER_KEYS_H_INCLUDED
#define CLUSTER_KEYS_H_INCLUDED


#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


#define KEYS_PREFIX  "{mcp}:1:"
#define KEYS_WORDS   1024

/* Minimum length of an id or digest. Tests have shorter ones, which may be
 * equal to another argument. */
#define KEYS_ID_MIN  16


/* The words of the last EVALSHA; n is 0 after another command. */
typedef struct {
    char    *line;
    char    *words[KEYS_WORDS];
    size_t   n;
    size_t   n_keys;
} keys_script_t;


/* Splits a line into its quoted words, which remain escaped. Returns their
 * number. */
static inline size_t
keys_words(char *p, char **words)
{
    size_t  n;

    for (n = 0; n < KEYS_WORDS && (p = strchr(p, '"')) != NULL; n++) {
        words[n] = ++p;

        while (*p && *p != '"') {
            p += *p == '\\' ? 2 : 1;
        }

        *p++ = '\0';
    }

    return n;
}


static inline int
keys_has(char *const *words, size_t n, const char *word)
{
    size_t  i;

    for (i = 0; i < n && strcmp(words[i], word) != 0; i++) {
        /* void */
    }

    return i < n;
}


static inline int
keys_may_use(const keys_script_t *script, const char *key)
{
    const char  *name, *id;

    if (strncmp(key, KEYS_PREFIX, strlen(KEYS_PREFIX)) != 0) {
        return 0;
    }

    if (keys_has(script->words + 3, script->n_keys, key)) {
        return 1;
    }

    name = key + strlen(KEYS_PREFIX);
    id = strchr(name, ':');

    return id && (strchr("nxm", name[0]) || strlen(id + 1) < KEYS_ID_MIN
                  || !keys_has(script->words + 3 + script->n_keys,
                               script->n - 3 - script->n_keys, id + 1));
}


/* Checks one line. Returns 1 if a script may not use a key. */
static inline int
keys_line(keys_script_t *script, char *line)
{
    int     wrong;
    char   *words[KEYS_WORDS];
    size_t  i, n;

    if (strstr(line, " lua] \"") == NULL) {
        free(script->line);
        script->line = strdup(line);
        script->n = keys_words(strchr(script->line, ']'), script->words);

        if (script->n < 3 || strcmp(script->words[0], "EVALSHA") != 0) {
            script->n = 0;
            return 0;
        }

        script->n_keys = strtoul(script->words[2], NULL, 10);

        return 0;
    }

    n = keys_words(line, words);

    if (script->n == 0 || strcmp(words[0], "TIME") == 0
        || strcmp(words[0], "INFO") == 0)
    {
        return 0;
    }

    for (wrong = 0, i = 1; i < n; i++) {
        if (!keys_may_use(script, words[i])) {
            fprintf(stderr, "a script with %zu keys, the first of which is %s, "
                    "may not use the key %s (%s)\n", script->n_keys,
                    script->words[3], words[i], words[0]);
            wrong = 1;
        }

        if (strcmp(words[0], "DEL") != 0) {
            break;
        }
    }

    return wrong;
}


/* Checks the lines from a connection until it is closed, and ends the process
 * with 1 if a script has used a wrong key. */
static inline void
keys_check(int fd)
{
    int             wrong = 0;
    FILE           *in;
    char           *line = NULL;
    size_t          size = 0;
    keys_script_t   script;

    memset(&script, 0, sizeof(script));
    in = fdopen(fd, "r");

    while (in && getline(&line, &size, in) > 0) {

        /* stop() may end Redis within a line */

        if (strchr(line, ']') && strchr(line, '\n')) {
            wrong |= keys_line(&script, line);
        }
    }

    _exit(wrong);
}


#endif /* CLUSTER_KEYS_H_INCLUDED */
