/* SPDX-License-Identifier: Apache-2.0 */

/* The two JSON parsers in a table, because the tests expect equal results from
 * both. */


#ifndef JSON_SCANS_H_INCLUDED
#define JSON_SCANS_H_INCLUDED


#include "json/mcp_json_scan.h"


typedef int (*json_scan_pt)(mcp_arena_t *scratch, mcp_str_t text,
    unsigned max_depth, const mcp_json_field_t *fields, size_t n,
    mcp_json_value_t *root, mcp_json_value_t *values,
    mcp_json_error_t *error);

static const json_scan_pt  json_scans[] = {
    mcp_json_scan, mcp_json_scan_config
};

#define JSON_SCANS  (sizeof(json_scans) / sizeof(json_scans[0]))


#endif /* JSON_SCANS_H_INCLUDED */
