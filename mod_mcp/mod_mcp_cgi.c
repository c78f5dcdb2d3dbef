/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The head of a CGI or FastCGI program's response.  Usually httpd's parser
 * parses it and gets the lines from get_line().
 */

#include "mod_mcp_cgi.h"

#include "util_script.h"

/* size of a buffer for a content type, bytes; longer content types are left to
 * httpd's parser */
#define TYPE  128

/*
 * Callback of httpd's parser.  Returns 1 with the next line, without CR, and
 * removes the line from the text.  Returns 0 with the beginning of the line if
 * it has no end or is too long.
 */
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

/* Returns 1 for a character of a content type that needs no normalization. */
static int is_plain(char c)
{
    return c >= ' ' && c <= '~' && !(c >= 'A' && c <= 'Z');
}

/*
 * Fast path for a head that contains only a content type, because httpd's
 * parser is slow.  Returns 1 and removes the head from the text, or returns 0
 * if the head is a different one.
 */
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

/*
 * Removes the program's Content-Length, unless the server is set to trust it,
 * and Transfer-Encoding, because the server frames the response itself.
 * Releases of httpd without AP_TRUST_CGILIKE_CL_ENVVAR keep both.
 */
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
