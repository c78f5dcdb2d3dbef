/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the declared capabilities of a client, and computes the digest of its
 * principal. */


#include "rpc/mcp_client.h"


static int
mcp_client_has(const mcp_json_value_t *object, mcp_str_t member)
{
    return mcp_json_get(object, member).type == MCP_JSON_OBJECT;
}


static unsigned
mcp_client_sampling(const mcp_json_value_t *capabilities)
{
    mcp_json_value_t  value;

    value = mcp_json_get(capabilities, mcp_str("sampling"));

    if (value.type != MCP_JSON_OBJECT) {
        return 0;
    }

    return MCP_CLIENT_SAMPLING
           | (mcp_client_has(&value, mcp_str("tools"))
              ? MCP_CLIENT_SAMPLING_TOOLS : 0u)
           | (mcp_client_has(&value, mcp_str("context"))
              ? MCP_CLIENT_SAMPLING_CONTEXT : 0u);
}


/*
 * Returns the bits of the capability "elicitation". An empty object, the only
 * form in 2025-06-18, means form mode (2025-11-25, client/elicitation,
 * Capabilities).
 */
static unsigned
mcp_client_elicitation(const mcp_json_value_t *capabilities)
{
    int               url;
    mcp_json_value_t  value;

    value = mcp_json_get(capabilities, mcp_str("elicitation"));

    if (value.type != MCP_JSON_OBJECT) {
        return 0;
    }

    url = mcp_client_has(&value, mcp_str("url"));

    return (!url || mcp_client_has(&value, mcp_str("form"))
            ? MCP_CLIENT_ELICITATION : 0u)
           | (url ? MCP_CLIENT_ELICITATION_URL : 0u);
}


/* Returns the bits of the resumption methods whose names are members of the
 * object. */
static unsigned
mcp_client_resume_methods(const mcp_json_value_t *object)
{
    size_t    i;
    unsigned  bits;

    static const struct {
        mcp_str_t  name;
        unsigned   bit;
    } methods[] = {
        { mcp_str("resumableRequests"), MCP_CLIENT_REQUESTS },
        { mcp_str("streams"), MCP_CLIENT_STREAMS },
        { mcp_str("resumeTokens"), MCP_CLIENT_TOKENS }
    };

    bits = 0;

    for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (mcp_client_has(object, methods[i].name)) {
            bits |= methods[i].bit;
        }
    }

    return bits;
}


unsigned
mcp_client_capabilities(const mcp_json_value_t *capabilities)
{
    unsigned          bits;
    mcp_json_value_t  value;

    /* most clients declare an empty object, which is 2 bytes long */

    if (capabilities == NULL || capabilities->type != MCP_JSON_OBJECT
        || capabilities->raw.len == 2)
    {
        return 0;
    }

    bits = mcp_client_sampling(capabilities)
           | mcp_client_elicitation(capabilities);

    if (mcp_client_has(capabilities, mcp_str("roots"))) {
        bits |= MCP_CLIENT_ROOTS;
    }

    /* resumption methods are proposals: a client declares each by its name,
     * either in the capabilities themselves or in "experimental" (2025-11-25,
     * lifecycle, "Capability Negotiation") */

    value = mcp_json_get(capabilities, mcp_str("experimental"));

    return bits | mcp_client_resume_methods(capabilities)
           | mcp_client_resume_methods(&value);
}


/*
 * Sets *value to a member of an object; its type is MCP_JSON_NONE if the member
 * is absent. Returns MCP_OK, or MCP_ERR_SYNTAX if the object has another member
 * that some JSON parsers take for this one: a backend could read it.
 */
static int
mcp_client_member(const mcp_json_value_t *object, mcp_str_t name,
    mcp_json_value_t *value)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  member;

    memset(value, 0, sizeof(mcp_json_value_t));
    mcp_json_iter_type(&iter, object, MCP_JSON_OBJECT);

    while (mcp_json_iter_next(&iter, &key, &member)) {

        if (mcp_json_str_eq(key, name)) {

            if (value->type != MCP_JSON_NONE) {
                return MCP_ERR_SYNTAX;
            }

            *value = member;

        } else if (mcp_json_alike(key, name)) {
            return MCP_ERR_SYNTAX;
        }
    }

    return MCP_OK;
}


int
mcp_client_extensions(const mcp_json_value_t *capabilities, unsigned *bits)
{
    mcp_json_value_t  extensions, tasks;

    *bits = 0;

    if (capabilities->raw.len == 2) {
        return MCP_OK;
    }

    if (mcp_client_member(capabilities, mcp_str("extensions"), &extensions)
        != MCP_OK
        || mcp_client_member(&extensions, mcp_str(MCP_CLIENT_TASKS_NAME),
                             &tasks) != MCP_OK)
    {
        return MCP_ERR_SYNTAX;
    }

    *bits = tasks.type == MCP_JSON_OBJECT ? MCP_CLIENT_TASKS : 0;

    return MCP_OK;
}


int
mcp_principal(mcp_str_t name, unsigned char out[MCP_DIGEST_LEN])
{
    if (name.len == 0) {
        memset(out, 0, MCP_DIGEST_LEN);
        return MCP_OK;
    }

    return mcp_digest(out, &name, 1);
}


void
mcp_client_session_variables(const mcp_client_t *client,
    mcp_variables_t *variables)
{
    mcp_variable_put(variables, MCP_VARIABLE_SESSION,
                     (mcp_str_t) { client->id_text, 8 });
    mcp_variable_put(variables, MCP_VARIABLE_SESSION_ID,
                     (mcp_str_t) { client->id_text, MCP_STREAM_TEXT_LEN });
}
