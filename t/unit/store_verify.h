/* SPDX-License-Identifier: Apache-2.0 */

/* Checks every invariant of a store. Linked with all unit tests and fuzz
 * targets, but with neither module. */


#ifndef STORE_VERIFY_H_INCLUDED
#define STORE_VERIFY_H_INCLUDED


#include "store/mcp_store_layout.h"


/*
 * Returns MCP_OK and sets *why to NULL, or
 *   MCP_ERR_INTERNAL  an invariant is broken; *why describes the first one
 */
int store_verify(mcp_store_t *store, const char **why);


#endif /* STORE_VERIFY_H_INCLUDED */
