/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The head of a CGI program's answer.  The server has a function for it, which
 * takes lines from a function of ours.
 */

#include "mod_mcp_cgi.h"

#include "util_script.h"

/* More than a content type usually has. */
#define TYPE  128

/* Returns 1 with a line of the text, without CR, and takes it, or 0, with the
 * beginning: no line ends there, or it is too long. */
static int get_line(char *buffer, int size, void *data)
{
    mcp_str_t *text = data;
    const char *p = text->data, *end = memchr(p, '\n', text->len), *cr;
    char *last = buffer + size - 1;
    apr_size_t n;
    int complete = (end != NULL);

    if (!complete) {
        end = p + text->len;
    }

    do {
        cr = memchr(p, '\r', (apr_size_t)(end - p));
        n = (apr_size_t)((cr ? cr : end) - p);

        if (n >= (apr_size_t)(last - buffer)) {
            n = (apr_size_t)(last - buffer);
            complete = 0;
            cr = NULL;
        }

        memcpy(buffer, p, n);
        buffer += n;
        p += n + 1;
    } while (cr);

    *buffer = '\0';

    if (complete) {
        text->len -= (apr_size_t)(end + 1 - text->data);
        text->data = end + 1;
    }

    return complete;
}

/* What a content type consists of, if there is nothing to change in it. */
static int is_plain(char c)
{
    return c >= ' ' && c <= '~' && !(c >= 'A' && c <= 'Z');
}

/* Takes the head off the text if it is a content type and nothing else, as most
 * are: the server's function would take its time over that.  1 if so. */
static int take_type(request_rec *r, mcp_str_t *text)
{
    static const char name[] = "Content-Type: ";
    const char *type = text->data + sizeof(name) - 1, *p = type;
    const char *end = text->data + text->len;

    if (text->len < sizeof(name)
        || ap_cstr_casecmpn(text->data, name, sizeof(name) - 1) != 0
        || !apr_is_empty_table(r->err_headers_out)) {
        return 0;
    }

    while (p < end && p - type < TYPE && is_plain(*p)) {
        p++;
    }

    if (p == type || *type == ' ' || p[-1] == ' ' || end - p < 4
        || memcmp(p, "\r\n\r\n", 4) != 0) {
        return 0;
    }

    ap_set_content_type(r, apr_pstrmemdup(r->pool, type,
                                          (apr_size_t)(p - type)));

    text->data = p + 4;
    text->len = (apr_size_t)(end - text->data);

    return 1;
}

/* How long the answer is, whoever carries it knows.  Older releases left it to
 * filters to find that out. */
static void unset_length(request_rec *r)
{
#ifdef AP_TRUST_CGILIKE_CL_ENVVAR
    if (!apr_table_get(r->subprocess_env, AP_TRUST_CGILIKE_CL_ENVVAR)) {
        apr_table_unset(r->headers_out, "Content-Length");
    }

    apr_table_unset(r->headers_out, "Transfer-Encoding");
#endif
}

int mod_mcp_cgi_head(request_rec *r, mcp_str_t *text, int module_index)
{
    int status = OK;

    if (!take_type(r, text)) {
        status = ap_scan_script_header_err_core_ex(r, NULL, get_line, text,
                                                   module_index);
    }

    if (!apr_is_empty_table(r->headers_out)) {
        unset_length(r);
    }

    return status;
}
