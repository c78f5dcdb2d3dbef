/* SPDX-License-Identifier: Apache-2.0 */

#include "base/mcp_time.h"


#define MCP_TIME_DAY  86400000

/* end of 31 December 9999: later years have more digits */
#define MCP_TIME_END  253402300799999ULL

/* days in 400, 100, 4 years and one year */
#define MCP_TIME_ERA      146097
#define MCP_TIME_CENTURY  36524
#define MCP_TIME_LEAP     1461
#define MCP_TIME_YEAR     365

/* days from 1 March of the year 0 to 1 January 1970 */
#define MCP_TIME_EPOCH    719468


/* Appends the value with n decimal digits, and the character "then". */
static void
mcp_time_digits(mcp_buf_t *buf, unsigned value, unsigned n, char then)
{
    char      text[8];
    unsigned  i;

    for (i = n; i > 0; i--) {
        text[i - 1] = (char) ('0' + value % 10);
        value /= 10;
    }

    text[n] = then;
    mcp_buf_add(buf, text, n + 1);
}


/*
 * Appends a date in the form "2026-07-28T". days is the number of days since
 * the epoch. The computation uses years that begin in March, so that a leap day
 * is the last day of such a year.
 */
static void
mcp_time_date(mcp_buf_t *buf, unsigned days)
{
    unsigned  era, year, month;

    days += MCP_TIME_EPOCH;
    era = days / MCP_TIME_ERA;
    days %= MCP_TIME_ERA;

    year = (days - days / (MCP_TIME_LEAP - 1) + days / MCP_TIME_CENTURY
            - days / (MCP_TIME_ERA - 1))
           / MCP_TIME_YEAR;
    days -= MCP_TIME_YEAR * year + year / 4 - year / 100;

    /* from March on, the lengths of months repeat: 31, 30, 31, 30, 31 days */

    month = (5 * days + 2) / 153;
    days -= (153 * month + 2) / 5;
    month = month < 10 ? month + 3 : month - 9;

    mcp_time_digits(buf, 400 * era + year + (month <= 2), 4, '-');
    mcp_time_digits(buf, month, 2, '-');
    mcp_time_digits(buf, days + 1, 2, 'T');
}


void
mcp_time_write(mcp_buf_t *buf, uint64_t ms)
{
    unsigned  rest;

    if (ms > MCP_TIME_END) {
        ms = MCP_TIME_END;
    }

    rest = (unsigned) (ms % MCP_TIME_DAY);

    mcp_time_date(buf, (unsigned) (ms / MCP_TIME_DAY));
    mcp_time_digits(buf, rest / 3600000, 2, ':');
    mcp_time_digits(buf, rest / 60000 % 60, 2, ':');
    mcp_time_digits(buf, rest / 1000 % 60, 2, '.');
    mcp_time_digits(buf, rest % 1000, 3, 'Z');
}
