/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The main program of one folder of unit tests:
 *
 *     tests          runs every file of the folder, one after the other
 *     tests NAME...  runs these files (mcp_str_test)
 *
 * The exit code is the number of files that failed, at most 100.  The Makefile
 * defines TESTS as TEST(name) for each file, whose main() has that name.
 */


#include <stdio.h>
#include <string.h>


#define TEST(name)  int name(void);
TESTS
#undef TEST


typedef struct {
    const char  *name;
    int        (*run)(void);
} test_file_t;


#define TEST(name)  { #name, name },
static const test_file_t  files[] = { TESTS };
#undef TEST

#define FILES  (sizeof(files) / sizeof(files[0]))


/* Returns 1 if the arguments contain the name of the file, or are empty. */
static int
wanted(const test_file_t *file, int argc, char **argv)
{
    int  i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], file->name) == 0) {
            return 1;
        }
    }

    return argc == 1;
}


int
main(int argc, char **argv)
{
    int     failed;
    size_t  i, ran;

    failed = 0;
    ran = 0;

    for (i = 0; i < FILES; i++) {
        if (wanted(&files[i], argc, argv)) {
            ran++;
            failed += files[i].run() != 0;
        }
    }

    if (ran == 0) {
        fprintf(stderr, "tests: no file of this folder has that name\n");
        return 1;
    }

    return failed < 100 ? failed : 100;
}
