/* SPDX-License-Identifier: Apache-2.0 */

/* What headers say: Accept, Content-Type, Origin. */


#include "test_env.h"

#include "mcp_http.h"


#define JSON  "application/json"
#define SSE   "text/event-stream"


static void
accept_one_line(void **state)
{
    static const struct {
        const char  *line;
        int          json;
        int          sse;
    } cases[] = {

        /* as clients send it */
        { "application/json, text/event-stream", 1, 1 },
        { "text/event-stream, application/json", 1, 1 },
        { "application/json,text/event-stream", 1, 1 },
        { "application/json", 1, 0 },
        { "text/event-stream", 0, 1 },
        { "*/*", 1, 1 },
        { "application/*", 1, 0 },
        { "text/*", 0, 1 },
        { "APPLICATION/JSON, Text/Event-Stream", 1, 1 },
        { "text/html, */*;q=0.8", 1, 1 },
        { "text/html, image/gif, *; q=.2, */*; q=.2", 1, 1 },  /* Java */

        /* others */
        { "", 0, 0 },
        { " ", 0, 0 },
        { ",", 0, 0 },
        { "text/html", 0, 0 },
        { "application/jsonx", 0, 0 },
        { "application/jso", 0, 0 },
        { "xapplication/json", 0, 0 },
        { "application/json+x", 0, 0 },

        /* odd spacing, empty elements */
        { "  application/json  ,\ttext/event-stream\t", 1, 1 },
        { ",,application/json,, ,text/event-stream,", 1, 1 },
        { "application/json ;q=1 , text/event-stream ; q=1", 1, 1 },
        { "application/json;;;q=1;", 1, 0 },
        { "application/json; ,text/event-stream", 1, 1 },
        { "application / json", 0, 0 },
        { "application/ json", 0, 0 },

        /* weights */
        { "application/json;q=0", 0, 0 },
        { "application/json;q=0.", 0, 0 },
        { "application/json;q=0.0", 0, 0 },
        { "application/json;q=0.000", 0, 0 },
        { "application/json;q=0.001", 1, 0 },
        { "application/json;q=0.15", 1, 0 },
        { "application/json;q=1", 1, 0 },
        { "application/json;q=1.000", 1, 0 },
        { "application/json;Q=0", 0, 0 },
        { "application/json; q = 0", 0, 0 },
        { "application/json;q=\"0\"", 0, 0 },
        { "application/json;q=0.0000001", 1, 0 },

        /* malformed weights: the range is skipped */
        { "application/json;q=1.001", 0, 0 },
        { "application/json;q=2", 0, 0 },
        { "application/json;q=10", 0, 0 },
        { "application/json;q=00", 0, 0 },
        { "application/json;q=-1", 0, 0 },
        { "application/json;q=", 0, 0 },
        { "application/json;q=.", 0, 0 },
        { "application/json;q=0.1.1", 0, 0 },
        { "application/json;q=x, text/event-stream", 0, 1 },
        { "application/json;q=x, */*", 1, 1 },

        /* the most specific range wins, in any order */
        { "*/*, application/json;q=0", 0, 1 },
        { "application/json;q=0, */*", 0, 1 },
        { "application/*;q=0, application/json", 1, 0 },
        { "application/json, application/*;q=0", 1, 0 },
        { "*/*;q=0, text/*", 0, 1 },
        { "text/*;q=0, */*", 1, 0 },
        { "*/*;q=0", 0, 0 },
        { "*/*;q=0, application/json", 1, 0 },

        /* parameters do not count: one of a kind that accepts is enough */
        { "application/json;v=1;q=0, application/json", 1, 0 },
        { "application/json, application/json;v=1;q=0", 1, 0 },
        { "application/json; charset=utf-8", 1, 0 },
        { "application/json; charset=\"a, b; q=0 \\\" c\", text/event-stream",
          1, 1 },
        { "application/json;q=1;q=0", 1, 0 },
        { "application/json;q=0;q=1", 0, 0 },
        { "application/json;q=0.5;ext;more=\"x\"", 1, 0 },

        /* malformed ranges are skipped */
        { "*/json", 0, 0 },
        { "*", 0, 0 },
        { "/json, text/event-stream", 0, 1 },
        { "application/, text/event-stream", 0, 1 },
        { "application, text/event-stream", 0, 1 },
        { "application/json/x, text/event-stream", 0, 1 },
        { "application/json x, text/event-stream", 0, 1 },
        { "application/json;=x, text/event-stream", 0, 1 },
        { "application/json;v=, text/event-stream", 0, 1 },
        { "application/json;v=\"x, text/event-stream", 0, 0 },
        { "\"application/json, x\", text/event-stream", 0, 1 },
        { "application/json;v=\"x\"y, text/event-stream", 0, 1 },
        { "application\x80/json, text/event-stream", 0, 1 },
        { "application/*x", 0, 0 },
    };

    char       *p;
    size_t      i;
    mcp_str_t   line;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {

        /* on the heap: reading on behind it shows */

        line = test_str(cases[i].line);
        p = malloc(line.len + (line.len == 0));
        assert_non_null(p);
        memcpy(p, line.data, line.len);
        line.data = p;

        if (mcp_http_accepts(&line, 1, mcp_str(JSON)) != cases[i].json
            || mcp_http_accepts(&line, 1, mcp_str(SSE)) != cases[i].sse)
        {
            fail_msg("Accept: %s", cases[i].line);
        }

        free(p);
    }
}


static void
accept_many_lines(void **state)
{
    mcp_str_t  lines[3];

    (void) state;

    assert_int_equal(mcp_http_accepts(NULL, 0, mcp_str(JSON)), 1);

    lines[0] = mcp_str("text/html");
    lines[1] = mcp_str("application/json");
    lines[2] = mcp_str("text/event-stream;q=0.1");

    assert_int_equal(mcp_http_accepts(lines, 3, mcp_str(JSON)), 1);
    assert_int_equal(mcp_http_accepts(lines, 3, mcp_str(SSE)), 1);
    assert_int_equal(mcp_http_accepts(lines, 2, mcp_str(SSE)), 0);

    /* specific ones win over lines, too; a quote ends with its line */

    lines[0] = mcp_str("*/*");
    lines[1] = mcp_str("application/json;v=\"");
    lines[2] = mcp_str("application/json;q=0");

    assert_int_equal(mcp_http_accepts(lines, 3, mcp_str(JSON)), 0);
    assert_int_equal(mcp_http_accepts(lines, 3, mcp_str(SSE)), 1);

    lines[0] = mcp_null_str;
    assert_int_equal(mcp_http_accepts(lines, 1, mcp_str(JSON)), 0);
    assert_int_equal(mcp_http_accepts(lines, 1, mcp_str("nonsense")), 0);
}


static void
content_types(void **state)
{
    static const struct {
        const char  *text;
        const char  *media_type;
        int          is_json;
    } cases[] = {
        { "application/json", "application/json", 1 },
        { "Application/JSON", "Application/JSON", 1 },
        { " application/json\t", "application/json", 1 },
        { "application/json;charset=utf-8", "application/json", 1 },
        { "application/json; charset=UTF-8", "application/json", 1 },
        { "application/json ; Charset=\"utf-8\" ; x=y", "application/json",
          1 },
        { "application/json;", "application/json", 1 },
        { "application/json; ;", "application/json", 1 },
        { "application/json; x=\"a;charset=latin1\"", "application/json", 1 },
        { "application/json; charset=iso-8859-1", "application/json", 0 },
        { "application/json; charset=utf8", "application/json", 0 },
        { "application/json; charset", "application/json", 0 },
        { "application/json; charset=utf-8; charset=latin1",
          "application/json", 0 },
        { "application/json; =x", "application/json", 0 },
        { "application/json; x=\"", "application/json", 0 },
        { "application/json; x=y z", "application/json", 0 },
        { "application/json; x=y, text/plain", "application/json", 0 },
        { "application/json, text/plain", "", 0 },
        { "application/json text/plain", "", 0 },
        { "application/json-rpc", "application/json-rpc", 0 },
        { "text/event-stream", "text/event-stream", 0 },
        { "application", "", 0 },
        { "application/", "", 0 },
        { "/json", "", 0 },
        { "", "", 0 },
        { " ", "", 0 },
    };

    size_t     i;
    mcp_str_t  bare;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bare = mcp_http_media_type(test_str(cases[i].text));

        assert_str_is(bare, cases[i].media_type);

        if (mcp_http_is_type(test_str(cases[i].text), mcp_str(JSON))
            != cases[i].is_json)
        {
            fail_msg("Content-Type: %s", cases[i].text);
        }
    }

    assert_int_equal(mcp_http_is_type(mcp_null_str, mcp_str(JSON)), 0);
    assert_int_equal(mcp_http_media_type(mcp_null_str).len, 0);
}


static void
origins_own(void **state)
{
    static const struct {
        const char  *origin;
        const char  *host;
        const char  *server_name;
        int          elsewhere;        /* not on loopback */
        int          loopback;
    } cases[] = {
        { "", "", "", 1, 1 },
        { "", "evil.com", "", 1, 1 },

        /* the attack: a name bound anew */
        { "http://evil.com", "evil.com", "", 0, 0 },
        { "http://evil.com:8080", "evil.com:8080", "", 0, 0 },
        { "http://evil.com", "localhost", "", 0, 0 },
        { "http://localhost", "evil.com", "", 0, 0 },
        { "http://localhost.evil.com", "localhost.evil.com", "", 0, 0 },
        { "http://evillocalhost", "evillocalhost", "", 0, 0 },
        { "http://127.0.0.1.evil.com", "127.0.0.1.evil.com", "", 0, 0 },
        { "http://.localhost", ".localhost", "", 0, 0 },

        /* what loopback trusts */
        { "http://localhost", "localhost", "", 1, 1 },
        { "http://LocalHost:3000", "localhost:3000", "", 1, 1 },
        { "http://app.localhost", "app.localhost", "", 1, 1 },
        { "http://127.0.0.1", "127.0.0.1", "", 1, 1 },
        { "http://127.0.0.1:8080", "127.0.0.1:8080", "", 1, 1 },
        { "http://127.255.0.9", "127.255.0.9", "", 1, 1 },
        { "http://[::1]", "[::1]", "", 1, 1 },
        { "http://[::1]:81", "[::1]:81", "", 1, 1 },
        { "http://mcp.example.com", "mcp.example.com", "mcp.example.com",
          1, 1 },
        { "https://MCP.example.com", "mcp.Example.com", "mcp.example.COM",
          1, 1 },
        { "http://a.com", "a.com", "b.com", 0, 0 },

        /* and what only looks like it */
        { "http://126.0.0.1", "126.0.0.1", "", 1, 0 },
        { "http://192.168.1.5:81", "192.168.1.5:81", "", 1, 0 },
        { "http://127.0.0.256", "127.0.0.256", "", 0, 0 },
        { "http://127.0.0", "127.0.0", "", 0, 0 },
        { "http://127.1", "127.1", "", 0, 0 },
        { "http://127.0.0.1.", "127.0.0.1.", "", 0, 0 },
        { "http://127.0.0.01", "127.0.0.01", "", 0, 0 },
        { "http://127..0.1", "127..0.1", "", 0, 0 },
        { "http://127.0.0.1.1", "127.0.0.1.1", "", 0, 0 },
        { "http://0127.0.0.1", "0127.0.0.1", "", 0, 0 },
        { "http://[::2]", "[::2]", "", 1, 0 },

        /* ports */
        { "http://localhost", "localhost:80", "", 1, 1 },
        { "http://localhost:80", "localhost", "", 1, 1 },
        { "http://localhost:", "localhost", "", 1, 1 },
        { "https://localhost", "localhost:443", "", 1, 1 },
        { "https://localhost:443", "localhost", "", 1, 1 },
        { "https://localhost", "localhost:80", "", 0, 0 },
        { "http://localhost", "localhost:443", "", 0, 0 },
        { "http://localhost:3000", "localhost:8080", "", 0, 0 },
        { "http://localhost:8080", "localhost:08080", "", 1, 1 },
        { "http://localhost:0", "localhost:0", "", 0, 0 },
        { "http://localhost:65536", "localhost:65536", "", 0, 0 },
        { "http://localhost:8o", "localhost:8o", "", 0, 0 },
        { "http://localhost:80:80", "localhost:80:80", "", 0, 0 },
        { "http://localhost:18446744073709551696", "localhost:80", "", 0, 0 },

        /* other schemes, null, malformed */
        { "null", "localhost", "", 0, 0 },
        { "null", "null", "", 0, 0 },
        { "ftp://localhost", "localhost", "", 0, 0 },
        { "file://", "localhost", "", 0, 0 },
        { "chrome-extension://abc", "abc", "", 0, 0 },
        { "localhost", "localhost", "", 0, 0 },
        { "//localhost", "localhost", "", 0, 0 },
        { "://localhost", "localhost", "", 0, 0 },
        { "http:localhost", "localhost", "", 0, 0 },
        { "http:/localhost", "localhost", "", 0, 0 },
        { "http://", "", "", 0, 0 },
        { "http://:80", ":80", "", 0, 0 },
        { "http://localhost/", "localhost", "", 0, 0 },
        { "http://localhost/", "localhost/", "", 0, 0 },
        { "http://u@localhost", "u@localhost", "", 0, 0 },
        { "http://localhost ", "localhost", "", 0, 0 },
        { "http://localhost http://localhost", "localhost", "", 0, 0 },
        { "http://localhost, http://localhost", "localhost", "", 0, 0 },
        { "http://localhost?", "localhost?", "", 0, 0 },
        { "http://[::1", "[::1", "", 0, 0 },
        { "http://[]", "[]", "", 0, 0 },
        { "http://[::1]x", "[::1]x", "", 0, 0 },
        { "http://[::1%25lo]", "[::1%25lo]", "", 0, 0 },
        { "http://::1", "::1", "", 0, 0 },
        { "http://localhost", "", "", 0, 0 },
        { "1http://localhost", "localhost", "", 0, 0 },
    };

    size_t             i;
    mcp_str_t          name;
    mcp_http_origin_t  o;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&o, 0, sizeof(o));

        o.origin = test_str(cases[i].origin);
        o.host = test_str(cases[i].host);
        name = test_str(cases[i].server_name);
        o.server_names = &name;
        o.n_server_names = 1;

        if (mcp_http_origin_allowed(&o) != cases[i].elsewhere) {
            fail_msg("Origin: %s, Host: %s", cases[i].origin, cases[i].host);
        }

        o.loopback = 1;

        if (mcp_http_origin_allowed(&o) != cases[i].loopback) {
            fail_msg("Origin: %s, Host: %s on loopback", cases[i].origin,
                     cases[i].host);
        }

        /* "*" switches the rule off */

        o.any = 1;
        assert_int_equal(mcp_http_origin_allowed(&o), 1);
    }

    /* bytes that C strings end at */

    memset(&o, 0, sizeof(o));
    o.origin = mcp_str("http://a\0b");
    o.host = mcp_str("a\0b");
    assert_int_equal(mcp_http_origin_allowed(&o), 0);

    o.origin = mcp_str("http://a");
    o.host = mcp_null_str;
    assert_int_equal(mcp_http_origin_allowed(&o), 0);
}


/* What URLs may begin with. */
static void
web_origins(void **state)
{
    static const struct {
        const char  *text;
        int          authority;
        int          origin;
    } cases[] = {
        { "a.example", 1, 0 },
        { "a.example:8443", 1, 0 },
        { "[::1]:80", 1, 0 },
        { "", 0, 0 },
        { "a b", 0, 0 },
        { "a/", 0, 0 },
        { "u@a", 0, 0 },
        { "a\"", 0, 0 },
        { "a>", 0, 0 },
        { "a:http", 0, 0 },
        { "a\r\nb", 0, 0 },

        { "http://a.example", 0, 1 },
        { "HTTPS://A.example:8443", 0, 1 },
        { "http://[::1]:80", 0, 1 },
        { "https://a.example/", 0, 0 },
        { "https://a.example/b", 0, 0 },
        { "https://a.example?b", 0, 0 },
        { "https://a.example ", 0, 0 },
        { "https://u@a.example", 0, 0 },
        { "https://", 0, 0 },
        { "https:a.example", 0, 0 },
        { "ftp://a.example", 0, 0 },
        { "null", 1, 0 }
    };

    char    text[8 + MCP_HTTP_AUTHORITY_MAX + 1];
    size_t  i;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (mcp_http_is_authority(test_str(cases[i].text))
            != cases[i].authority
            || mcp_http_is_web_origin(test_str(cases[i].text))
               != cases[i].origin)
        {
            fail_msg("%s", cases[i].text);
        }
    }

    memset(text, 'a', sizeof(text));
    memcpy(text, "https://", 8);

    for (i = 0; i < 2; i++) {
        assert_int_equal(mcp_http_is_web_origin((mcp_str_t) { text,
                                                    sizeof(text) - 1 + i }),
                         i == 0);
        assert_int_equal(mcp_http_is_authority((mcp_str_t) { text + 8,
                                                   sizeof(text) - 9 + i }),
                         i == 0);
    }

    assert_int_equal(mcp_http_is_authority(mcp_null_str), 0);
    assert_int_equal(mcp_http_is_web_origin(mcp_null_str), 0);
}


/* Which form a target has, and what is left of it. */
static void
targets(void **state)
{
    static const struct {
        const char  *target;
        const char  *authority;        /* NULL: none */
        const char  *left;
    } cases[] = {
        { "/mcp?x=1", NULL, "/mcp?x=1" },
        { "/mcp?x=http://a/b", NULL, "/mcp?x=http://a/b" },
        { "/http://a/b", NULL, "/http://a/b" },
        { "//a/b", NULL, "//a/b" },
        { "*", NULL, "*" },
        { "", NULL, "" },
        { "a:80", NULL, "a:80" },
        { "http:/a/b", NULL, "http:/a/b" },
        { "http:", NULL, "http:" },
        { "://a/b", NULL, "://a/b" },
        { "1http://a/b", NULL, "1http://a/b" },

        { "http://a/b?c", "a", "/b?c" },
        { "HTTPS://[::1]:80/b", "[::1]:80", "/b" },
        { "http://a//b://c", "a", "//b://c" },
        { "http://u@a:80/", "u@a:80", "/" },
        { "http://a", "a", "" },
        { "http://a?b/c", "a", "?b/c" },
        { "http:///b", "", "/b" },
        { "http://", "", "" },
    };

    size_t     i;
    mcp_str_t  target, authority;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        target = test_str(cases[i].target);
        mcp_http_target(&target, &authority);

        if (!mcp_str_eq(target, test_str(cases[i].left))
            || (authority.data != NULL) != (cases[i].authority != NULL)
            || (cases[i].authority
                && !mcp_str_eq(authority, test_str(cases[i].authority))))
        {
            fail_msg("target: %s", cases[i].target);
        }
    }

    target = mcp_null_str;
    mcp_http_target(&target, &authority);
    assert_null(authority.data);
    assert_int_equal(target.len, 0);
}


/* Server names as nginx and Apache write them. */
static void
server_names(void **state)
{
    static const struct {
        const char  *name;
        const char  *host;
        int          is;
    } cases[] = {
        { "a.example", "a.example", 1 },
        { "A.Example", "a.eXample", 1 },
        { "a.example", "b.a.example", 0 },
        { "a.example", "a.example.", 0 },
        { "a.example", "a-example", 0 },
        { "", "", 0 },
        { "", "a", 0 },
        { "a", "", 0 },

        { ".a.example", "a.example", 1 },
        { ".a.example", "b.a.example", 1 },
        { ".a.example", "c.B.A.example", 1 },
        { ".a.example", "ba.example", 0 },
        { ".a.example", "example", 0 },
        { ".", "", 0 },

        { "*.a.example", "b.a.example", 1 },
        { "*.a.example", "c.b.A.example", 1 },
        { "*.a.example", "a.example", 0 },
        { "*.a.example", "ba.example", 0 },
        { "*.a.example", "b.a.example.evil.com", 0 },
        { "*a.example", "ba.example", 1 },
        { "*a.example", "a.example", 1 },
        { "w*.a.example", "www.a.example", 1 },
        { "w*.a.example", "w.a.example", 1 },
        { "w*.a.example", "xw.a.example", 0 },
        { "*.b.*.example", "a.b.c.example", 1 },
        { "*.b.*.example", "a.b.b.c.b.d.example", 1 },
        { "*.b.*.example", "a.c.d.example", 0 },
        { "a**.example", "ab.example", 1 },
        { "**.example", "x.example", 1 },
        { "?.example", "a.example", 1 },
        { "?.example", "ab.example", 0 },
        { "?.example", ".example", 0 },
        { "a?c.*.example", "abc.d.example", 1 },
        { "a?c.*.example", "ac.d.example", 0 },

        /* anybody can have such a name */
        { "*", "a.example", 0 },
        { "www.*", "www.evil.com", 0 },
        { "www.*", "www.*", 0 },
        { "www.example.c*", "www.example.com", 0 },
        { "a.exampl?", "a.example", 0 },
        { "localhos?", "localhosx", 0 },

        /* no expressions */
        { "~^a", "a", 0 },
        { "~^a", "~^a", 0 },
        { "~a.example", "~a.example", 0 }
    };

    size_t             i;
    mcp_str_t          names[3];
    mcp_http_origin_t  o;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (mcp_http_name_is(test_str(cases[i].name), test_str(cases[i].host))
            != cases[i].is)
        {
            fail_msg("%s on %s", cases[i].name, cases[i].host);
        }
    }

    /* any of them, and whatever the port */

    memset(&o, 0, sizeof(o));
    names[0] = mcp_str("~^(a|b)$");
    names[1] = mcp_str("a.example");
    names[2] = mcp_str("*.b.example");
    o.server_names = names;
    o.n_server_names = 3;
    o.loopback = 1;

    o.origin = mcp_str("http://x.b.example:8080");
    o.host = mcp_str("x.B.example:8080");
    assert_int_equal(mcp_http_origin_allowed(&o), 1);

    o.origin = mcp_str("http://a.example");
    o.host = mcp_str("a.example");
    assert_int_equal(mcp_http_origin_allowed(&o), 1);

    o.n_server_names = 1;
    assert_int_equal(mcp_http_origin_allowed(&o), 0);
}


static void
loopback(void **state)
{
    size_t  i;

    static const struct {
        const char  *address;
        size_t       len;
        int          is;
    } cases[] = {
        { "\x7f\0\0\1", 4, 1 },
        { "\x7f\xff\xff\xff", 4, 1 },
        { "\x80\0\0\1", 4, 0 },
        { "\0\0\0\0", 4, 0 },
        { "\x0a\0\0\x7f", 4, 0 },
        { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, 1 },
        { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, 0 },
        { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16, 0 },
        { "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16, 1 },
        { "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16, 0 },
        { "\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\0\1", 16, 0 },
        { "\x7f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, 0 },
        { "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, 0 },
        { "\x7f", 1, 0 },
        { "", 0, 0 }
    };

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (mcp_http_address_is_loopback(cases[i].address, cases[i].len)
            != cases[i].is)
        {
            fail_msg("address %zu", i);
        }
    }
}


static void
origins_listed(void **state)
{
    static const char  *patterns[] = {
        "https://app.example.com",
        "~^https://[a-z]+\\.dev\\.example\\.com$",
        "chrome-extension://abcdef",
    };

    static const struct {
        const char  *origin;
        int          allowed;
    } cases[] = {
        { "https://app.example.com", 1 },
        { "http://app.example.com", 0 },
        { "https://app.example.com:8443", 0 },
        { "https://app.example.com.evil.com", 0 },
        { "https://x.dev.example.com", 1 },
        { "https://x.y.dev.example.com", 0 },
        { "chrome-extension://abcdef", 1 },
        { "chrome-extension://abcdeg", 0 },
        { "null", 0 },
        { "https://evil.com", 0 },
        { "", 1 },
    };

    char               error[128];
    size_t             i;
    test_mem_t         tm;
    mcp_match_t       *allowed[5];
    mcp_http_origin_t  o;

    (void) state;

    test_mem_init(&tm);
    memset(&o, 0, sizeof(o));

    for (i = 0; i < 3; i++) {
        assert_int_equal(mcp_match_create(&tm.mem, test_str(patterns[i]),
                                          &allowed[i], error, sizeof(error)),
                         MCP_OK);
    }

    o.host = mcp_str("mcp.example.com");
    o.loopback = 1;
    o.allowed = allowed;
    o.n_allowed = 3;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        o.origin = test_str(cases[i].origin);

        if (mcp_http_origin_allowed(&o) != cases[i].allowed) {
            fail_msg("Origin: %s", cases[i].origin);
        }
    }

    /* a pattern for everything takes what is an origin, and not "null" ... */

    assert_int_equal(mcp_match_create(&tm.mem, mcp_str("~."), &allowed[3],
                                      error, sizeof(error)), MCP_OK);
    o.n_allowed = 4;

    o.origin = mcp_str("https://evil.com");
    assert_int_equal(mcp_http_origin_allowed(&o), 1);
    o.origin = mcp_str("evil.com");
    assert_int_equal(mcp_http_origin_allowed(&o), 0);
    o.origin = mcp_str("null");
    assert_int_equal(mcp_http_origin_allowed(&o), 0);

    /* ... which must be written down */

    assert_int_equal(mcp_match_create(&tm.mem, mcp_str("null"), &allowed[4],
                                      error, sizeof(error)), MCP_OK);
    o.n_allowed = 5;
    assert_int_equal(mcp_http_origin_allowed(&o), 1);

    for (i = 0; i < 5; i++) {
        mcp_match_free(allowed[i]);
    }

    assert_int_equal(tm.live, 0);
}


/* Names that somebody else cannot have bound to our address. */
static void
hosts(void **state)
{
    static const mcp_str_t  names[] = {
        mcp_str("example.com"), mcp_str(".example.net"), mcp_str("10.0.0.1"),
        mcp_str("~^.*$"), mcp_str("")
    };

    static const char  *allowed[] = {
        "", "localhost", "LOCALHOST:8080", "a.localhost", "127.0.0.1",
        "127.3.2.1:80", "[::1]", "[::1]:80", "example.com", "Example.COM:1",
        "a.example.net", "10.0.0.1:9"
    };

    static const char  *refused[] = {
        "evil.example", "evil.example:80", "10.0.0.2", "[fe80::1]",
        "127.0.0.1.evil.example", "example.com.evil.example", "0.0.0.0",
        "a b", "localhost:x", ":80", "localhost@evil.example"
    };

    size_t  i;

    (void) state;

    for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        assert_int_equal(mcp_http_host_allowed(test_str(allowed[i]), names, 5),
                         1);
    }

    for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_int_equal(mcp_http_host_allowed(test_str(refused[i]), names, 5),
                         0);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(accept_one_line),
        cmocka_unit_test(accept_many_lines),
        cmocka_unit_test(content_types),
        cmocka_unit_test(origins_own),
        cmocka_unit_test(web_origins),
        cmocka_unit_test(targets),
        cmocka_unit_test(server_names),
        cmocka_unit_test(hosts),
        cmocka_unit_test(loopback),
        cmocka_unit_test(origins_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
