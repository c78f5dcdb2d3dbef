/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Secrets as valgrind's memcheck sees them: bytes that nobody has set.  A
 * branch, or an address, that depends on one is an error then, and where
 * there is none, time tells nothing of them (the method of A. Langley's
 * ctgrind).
 *
 * secrets.c stands between the core and some functions, by the linker's
 * --wrap: keys become secret once they are made; what is printed for a client
 * is none any more, nor is whether two secrets are equal, which the answer
 * tells.
 */


#ifndef SECRETS_H_INCLUDED
#define SECRETS_H_INCLUDED


#include <valgrind/memcheck.h>


/* For controls: secrets are compared by memcmp(); what is printed stays
 * secret. */
extern int       secrets_plain, secrets_kept;

/* Comparisons of secrets so far. */
extern unsigned  secrets_compared;


#define secret(p, len)    ((void) VALGRIND_MAKE_MEM_UNDEFINED(p, len))
#define revealed(p, len)  ((void) VALGRIND_MAKE_MEM_DEFINED(p, len))


#endif /* SECRETS_H_INCLUDED */
