/* SPDX-License-Identifier: Apache-2.0 */

/* Contains the table of options, and parses the texts of their values. */


#include "config/mcp_number_option_internal.h"
#include "config/mcp_tenant.h"


typedef enum {
    MCP_OPTION_KIND_TIME = 0,
    MCP_OPTION_KIND_SIZE,
    MCP_OPTION_KIND_NUMBER,
    MCP_OPTION_KIND_FLAG,
    MCP_OPTION_KIND_QUOTA,             /* a maximum number for each tenant */
    MCP_OPTION_KIND_ROOM,              /* a maximum size for each tenant,
                                          bytes */
    MCP_OPTION_KIND_QUOTA_KEY,
    MCP_OPTION_KIND_RESUME_STATELESS,
    MCP_OPTION_KIND_UPSTREAM,
    MCP_OPTION_KIND_UPSTREAM_SESSION,
    MCP_OPTION_KIND_UPSTREAM_LISTS
} mcp_option_kind_e;


typedef struct {
    mcp_option_kind_e   kind;
    unsigned            off:1;
    uint64_t            min;
    uint64_t            max;
    uint64_t            value;         /* default */
    const char         *bounds;        /* error text for a value out of
                                          range */
} mcp_option_t;


/* Converts a row of MCP_OPTIONS to an element of mcp_option_table.
 * MCP_OPTION_ROW() passes the row on to MCP_OPTION_ENTRY(), so that min and max
 * are expanded before "#" makes them a part of the error text. */
#define MCP_OPTION_ROW(id, member, nginx, apache, kind, off, min, max, def)   \
    MCP_OPTION_ENTRY(kind, off, min, max, def)

#define MCP_OPTION_ENTRY(kind, off, min, max, def)                            \
    { MCP_OPTION_KIND_##kind, off, (uint64_t) (min), (uint64_t) (max),        \
      (uint64_t) (def), "value must be between " #min " and " #max },

static const mcp_option_t  mcp_option_table[MCP_OPTION_COUNT] = {
    MCP_OPTIONS(MCP_OPTION_ROW)
};


/* mcp_options_t.set has one bit for each option */
_Static_assert(MCP_OPTION_COUNT <= 64, "too many options");


static uint64_t
mcp_option_bit(unsigned option)
{
    return (uint64_t) 1 << option;
}


/* The units of a time, in the order in which they must appear. */
typedef struct {
    mcp_str_t  name;
    uint64_t   ms;
} mcp_option_unit_t;

static const mcp_option_unit_t  mcp_option_units[] = {
    { mcp_str("w"), 7 * 24 * 60 * 60 * 1000U },
    { mcp_str("d"), 24 * 60 * 60 * 1000 },
    { mcp_str("h"), 60 * 60 * 1000 },
    { mcp_str("m"), 60 * 1000 },
    { mcp_str("s"), 1000 },
    { mcp_str("ms"), 1 }
};

#define MCP_OPTION_UNITS                                                      \
    (sizeof(mcp_option_units) / sizeof(mcp_option_units[0]))

#define MCP_OPTION_SECONDS  4          /* index of the unit of numbers
                                          without a unit */


/* Adds n * scale to *total. Returns MCP_ERR_SYNTAX on overflow. */
static int
mcp_option_add(uint64_t *total, uint64_t n, uint64_t scale)
{
    if (n > INT64_MAX / scale || *total > INT64_MAX - n * scale) {
        return MCP_ERR_SYNTAX;
    }

    *total += n * scale;

    return MCP_OK;
}


/*
 * Returns the index of the unit at the beginning of text, or the number of
 * units if there is none.
 */
static size_t
mcp_option_unit(mcp_str_t text)
{
    size_t      i, found;
    mcp_str_t   name;

    found = MCP_OPTION_UNITS;

    for (i = 0; i < MCP_OPTION_UNITS; i++) {
        name = mcp_option_units[i].name;

        /* the last match is the right one: for the text "ms", the units "m"
         * and "ms" match */

        if (name.len <= text.len
            && memcmp(name.data, text.data, name.len) == 0)
        {
            found = i;
        }
    }

    return found;
}


/*
 * Removes a decimal number from the beginning of *text and sets *n to it.
 * Returns MCP_OK, MCP_DONE if *text does not begin with a digit, or
 * MCP_ERR_SYNTAX if the number does not fit into *n.
 */
static int
mcp_option_number(mcp_str_t *text, uint64_t *n)
{
    mcp_str_t  digits;

    digits.data = text->data;
    digits.len = 0;

    while (digits.len < text->len && digits.data[digits.len] >= '0'
           && digits.data[digits.len] <= '9')
    {
        digits.len++;
    }

    *n = 0;

    if (digits.len == 0) {
        return MCP_DONE;
    }

    text->data += digits.len;
    text->len -= digits.len;

    return mcp_str_uint(digits, n);
}


/*
 * Removes a unit of time from the beginning of *text, and sets *ms to the
 * length of this unit. Units must follow each other in descending order, each
 * at most once: *next is the index of the first unit that is accepted, and is
 * set to that of the next shorter unit. A number without a unit is in seconds,
 * and no unit may follow it. Returns MCP_OK or MCP_ERR_SYNTAX.
 */
static int
mcp_option_take_unit(mcp_str_t *text, size_t *next, uint64_t *ms)
{
    size_t  unit;

    if (text->len == 0 || text->data[0] == ' ') {

        if (text->len && *next > MCP_OPTION_SECONDS) {
            return MCP_ERR_SYNTAX;
        }

        *next = MCP_OPTION_UNITS;
        *ms = mcp_option_units[MCP_OPTION_SECONDS].ms;

        return MCP_OK;
    }

    unit = mcp_option_unit(*text);

    if (unit < *next || unit == MCP_OPTION_UNITS) {
        return MCP_ERR_SYNTAX;
    }

    *next = unit + 1;
    *ms = mcp_option_units[unit].ms;

    text->data += mcp_option_units[unit].name.len;
    text->len -= mcp_option_units[unit].name.len;

    return MCP_OK;
}


/* Converts a time in the syntax of nginx, such as "1h 30m" or "500ms", to ms.
 * Returns MCP_OK or MCP_ERR_SYNTAX. */
int
mcp_option_time(mcp_str_t text, uint64_t *ms)
{
    int       rc, valid;
    size_t    next;
    uint64_t  n, unit, total;

    valid = 0;
    next = 0;
    total = 0;

    while (text.len) {
        rc = mcp_option_number(&text, &n);

        if (rc != MCP_OK && rc != MCP_DONE) {
            return MCP_ERR_SYNTAX;
        }

        valid |= rc == MCP_OK;

        if (mcp_option_take_unit(&text, &next, &unit) != MCP_OK
            || mcp_option_add(&total, n, unit) != MCP_OK)
        {
            return MCP_ERR_SYNTAX;
        }

        while (text.len && text.data[0] == ' ') {
            text.data++;
            text.len--;
        }
    }

    *ms = total;

    return valid ? MCP_OK : MCP_ERR_SYNTAX;
}


int
mcp_option_size(mcp_str_t text, uint64_t *size)
{
    uint64_t  n, scale;

    scale = 1;

    switch (text.len ? text.data[text.len - 1] : '\0') {

    case 'K':
    case 'k':
        scale = 1024;
        break;

    case 'M':
    case 'm':
        scale = 1024 * 1024;
        break;

    case 'G':
    case 'g':
        scale = 1024 * 1024 * 1024;
        break;
    }

    if (scale > 1) {
        text.len--;
    }

    *size = 0;

    if (mcp_str_uint(text, &n) != MCP_OK) {
        return MCP_ERR_SYNTAX;
    }

    return mcp_option_add(size, n, scale);
}


/* The keywords that an option of each kind accepts as its value. */
static const struct {
    mcp_option_kind_e  kind;
    mcp_str_t          text;
    uint64_t           value;
} mcp_option_words[] = {
    { MCP_OPTION_KIND_FLAG, mcp_str("on"), 1 },
    { MCP_OPTION_KIND_FLAG, mcp_str("off"), 0 },
    { MCP_OPTION_KIND_QUOTA, mcp_str("share"), MCP_QUOTA_SHARE },
    { MCP_OPTION_KIND_QUOTA, mcp_str("off"), MCP_QUOTA_OFF },
    { MCP_OPTION_KIND_QUOTA, mcp_str("0"), MCP_QUOTA_OFF },
    { MCP_OPTION_KIND_ROOM, mcp_str("share"), MCP_QUOTA_SHARE },
    { MCP_OPTION_KIND_ROOM, mcp_str("off"), MCP_QUOTA_OFF },
    { MCP_OPTION_KIND_ROOM, mcp_str("0"), MCP_QUOTA_OFF },
    { MCP_OPTION_KIND_QUOTA_KEY, mcp_str("principal"),
      MCP_QUOTA_KEY_PRINCIPAL },
    { MCP_OPTION_KIND_QUOTA_KEY, mcp_str("address"), MCP_QUOTA_KEY_ADDRESS },
    { MCP_OPTION_KIND_QUOTA_KEY, mcp_str("off"), MCP_QUOTA_KEY_OFF },
    { MCP_OPTION_KIND_RESUME_STATELESS, mcp_str("off"),
      MCP_RESUME_STATELESS_OFF },
    { MCP_OPTION_KIND_RESUME_STATELESS, mcp_str("declared"),
      MCP_RESUME_STATELESS_DECLARED },
    { MCP_OPTION_KIND_RESUME_STATELESS, mcp_str("all"),
      MCP_RESUME_STATELESS_ALL },
    { MCP_OPTION_KIND_UPSTREAM, mcp_str("off"), MCP_UPSTREAM_OFF },
    { MCP_OPTION_KIND_UPSTREAM, mcp_str("modern"), MCP_UPSTREAM_MODERN },
    { MCP_OPTION_KIND_UPSTREAM, mcp_str("stateless"), MCP_UPSTREAM_STATELESS },
    { MCP_OPTION_KIND_UPSTREAM, mcp_str("session"), MCP_UPSTREAM_SESSION },
    { MCP_OPTION_KIND_UPSTREAM, mcp_str("auto"), MCP_UPSTREAM_AUTO },
    { MCP_OPTION_KIND_UPSTREAM_SESSION, mcp_str("client"),
      MCP_UPSTREAM_OF_CLIENT },
    { MCP_OPTION_KIND_UPSTREAM_SESSION, mcp_str("principal"),
      MCP_UPSTREAM_OF_PRINCIPAL },
    { MCP_OPTION_KIND_UPSTREAM_SESSION, mcp_str("call"), MCP_UPSTREAM_OF_CALL },
    { MCP_OPTION_KIND_UPSTREAM_LISTS, mcp_str("off"), MCP_UPSTREAM_LISTS_OFF },
    { MCP_OPTION_KIND_UPSTREAM_LISTS, mcp_str("public"),
      MCP_UPSTREAM_LISTS_PUBLIC },
    { MCP_OPTION_KIND_UPSTREAM_LISTS, mcp_str("shared"),
      MCP_UPSTREAM_LISTS_SHARED }
};

#define MCP_OPTION_WORDS                                                      \
    (sizeof(mcp_option_words) / sizeof(mcp_option_words[0]))


/* Reads a keyword. Returns MCP_OK, or MCP_DONE if text is not a keyword of the
 * option. */
static int
mcp_option_word(const mcp_option_t *option, mcp_str_t text, uint64_t *value)
{
    size_t  i;

    for (i = 0; i < MCP_OPTION_WORDS; i++) {
        if (mcp_option_words[i].kind == option->kind
            && mcp_str_case_eq(text, mcp_option_words[i].text))
        {
            *value = mcp_option_words[i].value;
            return MCP_OK;
        }
    }

    *value = 0;

    return option->off && mcp_str_case_eq(text, mcp_str("off")) ? MCP_OK
                                                                : MCP_DONE;
}


/*
 * Sets *value to the value of the option that "text" represents. Returns
 * MCP_OK, or MCP_ERR_CONFIG with *error set.
 */
static int
mcp_option_read(const mcp_option_t *option, mcp_str_t text, uint64_t *value,
    const char **error)
{
    int  rc, number, size;

    number = option->kind == MCP_OPTION_KIND_NUMBER
             || option->kind == MCP_OPTION_KIND_QUOTA;
    size = option->kind == MCP_OPTION_KIND_SIZE
           || option->kind == MCP_OPTION_KIND_ROOM;

    if (mcp_option_word(option, text, value) == MCP_OK) {
        return MCP_OK;
    }

    *error = number ? "invalid number" : "invalid value";

    rc = number ? mcp_str_uint(text, value)
         : size ? mcp_option_size(text, value)
         : option->kind == MCP_OPTION_KIND_TIME ? mcp_option_time(text, value)
         : MCP_ERR_SYNTAX;

    if (rc != MCP_OK) {
        return MCP_ERR_CONFIG;
    }

    /* rejects a size of a few bytes, such as "8": the operator probably meant
     * "8m" */

    if (size && *value > 0 && *value < 1024) {
        *error = "value is less than 1 KB: add the unit, as in 8m";
        return MCP_ERR_CONFIG;
    }

    if (*value >= option->min && *value <= option->max) {
        return MCP_OK;
    }

    if (option->kind == MCP_OPTION_KIND_TIME && *value < option->min) {
        *error = "value must not be 0";
    }

    if (number) {
        *error = option->bounds;
    }

    return MCP_ERR_CONFIG;
}


int
mcp_option_set(mcp_options_t *options, mcp_option_e option, mcp_str_t text,
    const char **error)
{
    uint64_t  value;

    if (options->set & mcp_option_bit(option)) {
        *error = "is duplicate";
        return MCP_ERR_CONFIG;
    }

    if (mcp_option_read(&mcp_option_table[option], text, &value, error)
        != MCP_OK)
    {
        return MCP_ERR_CONFIG;
    }

    options->value[option] = value;
    options->set |= mcp_option_bit(option);

    return MCP_OK;
}


const char *
mcp_option_form(mcp_option_e option)
{
    static const char  *const forms[][2] = {
        [MCP_OPTION_KIND_TIME] =
            { "write a time, such as 500ms, 90s or \"1h 30m\"",
              "write a time, such as 500ms, 90s or \"1h 30m\", or write "
              "\"off\"" },
        [MCP_OPTION_KIND_SIZE] =
            { "write a size, such as 65536, 64k, 8m or 1g",
              "write a size, such as 65536, 64k, 8m or 1g, or write \"off\"" },
        [MCP_OPTION_KIND_NUMBER] =
            { "write a number", "write a number or \"off\"" },
        [MCP_OPTION_KIND_FLAG] =
            { "write \"on\" or \"off\"", "write \"on\" or \"off\"" },
        [MCP_OPTION_KIND_QUOTA] =
            { "write a number or \"share\"",
              "write a number, \"share\" or \"off\"" },
        [MCP_OPTION_KIND_ROOM] =
            { "write a size, such as 65536, 64k, 8m or 1g, or write "
              "\"share\"",
              "write a size, such as 65536, 64k, 8m or 1g, or write "
              "\"share\" or \"off\"" },
        [MCP_OPTION_KIND_QUOTA_KEY] =
            { "write \"principal\" or \"address\"",
              "write \"principal\", \"address\" or \"off\"" },
        [MCP_OPTION_KIND_RESUME_STATELESS] =
            { "write \"declared\" or \"all\"",
              "write \"off\", \"declared\" or \"all\"" },
        [MCP_OPTION_KIND_UPSTREAM] =
            { "write \"auto\", \"modern\", \"stateless\" or \"session\"",
              ("write \"off\", \"auto\", \"modern\", \"stateless\" or "
               "\"session\"") },
        [MCP_OPTION_KIND_UPSTREAM_SESSION] =
            { "write \"client\", \"principal\" or \"call\"", NULL },
        [MCP_OPTION_KIND_UPSTREAM_LISTS] =
            { "write \"public\" or \"shared\"",
              "write \"off\", \"public\" or \"shared\"" }
    };

    return forms[mcp_option_table[option].kind][mcp_option_table[option].off];
}


void
mcp_options_merge(mcp_options_t *options, const mcp_options_t *parent)
{
    unsigned  i;

    for (i = 0; i < MCP_OPTION_COUNT; i++) {
        if (!(options->set & mcp_option_bit(i))
            && (parent->set & mcp_option_bit(i)))
        {
            options->value[i] = parent->value[i];
            options->set |= mcp_option_bit(i);
        }
    }
}


int
mcp_options_has(const mcp_options_t *options, mcp_option_e option)
{
    return (options->set & mcp_option_bit(option)) != 0;
}


static uint64_t
mcp_option_value(const mcp_options_t *options, mcp_option_e option)
{
    return mcp_options_has(options, option)
           ? options->value[option] : mcp_option_table[option].value;
}


void
mcp_options_apply(const mcp_options_t *options, mcp_endpoint_t *endpoint)
{
    /* mcp_option_value() returns a uint64_t, and some members have a smaller
     * type: each value fits, because it is within the bounds of its option */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"

#define MCP_OPTION_APPLY(id, member, nginx, apache, kind, off, min, max, def) \
    endpoint->member = mcp_option_value(options, MCP_OPTION_##id);

    MCP_OPTIONS(MCP_OPTION_APPLY)

#pragma GCC diagnostic pop

    if (!(options->set & mcp_option_bit(MCP_OPTION_TASK_AFTER))) {
        endpoint->task_after = endpoint->stream_after ? endpoint->stream_after
                                                      : 1;
    }
}
