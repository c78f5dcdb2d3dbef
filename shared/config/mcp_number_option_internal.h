/* SPDX-License-Identifier: Apache-2.0 */

/* The values of options in one section of the configuration. */


#ifndef MCP_NUMBER_OPTION_INTERNAL_H_INCLUDED
#define MCP_NUMBER_OPTION_INTERNAL_H_INCLUDED


#include "config/mcp_endpoint_internal.h"
#include "mcp_number_option.h"


/* The options that the configuration sets. */
typedef struct {
    uint64_t  value[MCP_OPTION_COUNT];
    uint64_t  set;                     /* bit i: value[i] is set */
} mcp_options_t;


/*
 * Parses the text of an option by its kind:
 *
 * - times: "1h 30m", "90s", "500ms"; a bare number is seconds;
 *
 * - sizes: "64k", "8m", "1g", or bytes;
 *
 * - numbers;
 *
 * - flags: "on" and "off";
 *
 * - quotas: a number or a size, "share" (MCP_QUOTA_SHARE) or "off"
 *   (MCP_QUOTA_OFF);
 *
 * - mcp_quota_key, mcp_resume_stateless, mcp_upstream, mcp_upstream_session and
 *   mcp_upstream_lists: their keywords.
 *
 * "off" is 0 for times, sizes and numbers that may be "off" according to
 * MCP_OPTIONS.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  *error, a static text, continues the directive's name, for
 *                   example "is duplicate", "invalid value", "invalid number"
 *                   or "value must be between 4 and 512"
 */
int mcp_option_set(mcp_options_t *options, mcp_option_e option,
    mcp_str_t text, const char **error);

/* Returns the syntax of an option's values for an error message, a static
 * string. */
const char *mcp_option_form(mcp_option_e option);

/* Copies the values of options that are set in *parent but not in *options. */
void mcp_options_merge(mcp_options_t *options, const mcp_options_t *parent);

/* Returns 1 if the configuration sets the option. */
int mcp_options_has(const mcp_options_t *options, mcp_option_e option);

/* Sets the options in the endpoint; an option that is not set gets its
 * default. The default of mcp_task_after is the value of mcp_stream_after, or
 * 1 ms if that is 0. */
void mcp_options_apply(const mcp_options_t *options,
    mcp_endpoint_t *endpoint);


#endif /* MCP_NUMBER_OPTION_INTERNAL_H_INCLUDED */
