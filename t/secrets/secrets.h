/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Secrets as undefined bytes for valgrind's memcheck.  A branch or an address
 * that depends on a secret is then an error; without an error, the execution
 * time does not depend on secrets (the method of A. Langley's ctgrind).
 *
 * secrets.c wraps some functions of the core with the linker's option --wrap:
 * keys become secret when they are created; text printed for a client is not
 * secret, nor is the result of a comparison of two secrets, because the
 * response reveals it.
 */


#ifndef SECRETS_H_INCLUDED
#define SECRETS_H_INCLUDED


#include <valgrind/memcheck.h>


/* Flags for controls, which valgrind must report.  1 in secrets_plain: compare
 * secrets by memcmp(); 1 in secrets_kept: text printed for a client remains
 * secret. */
extern int       secrets_plain, secrets_kept;

/* Number of comparisons of secrets since the start. */
extern unsigned  secrets_compared;


#define secret(p, len)    ((void) VALGRIND_MAKE_MEM_UNDEFINED(p, len))
#define revealed(p, len)  ((void) VALGRIND_MAKE_MEM_DEFINED(p, len))


#endif /* SECRETS_H_INCLUDED */
