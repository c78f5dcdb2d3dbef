-- SPDX-License-Identifier: Apache-2.0
--
-- Sends a broadcast to all nodes.
--
-- KEYS[5] PREFIX:1:told
-- KEYS[6] PREFIX:1:heard
-- KEYS[7] PREFIX:1:i:PROCESS; missing: not a notification
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms; not used
-- ARGV[3] purpose, a character of mcp_broadcast_e
-- ARGV[4] key of the value, or topic
-- ARGV[5] session
-- ARGV[6] value
-- ARGV[7] lifetime of the broadcast, ms
-- ARGV[8] message of a notification; empty: not a notification
-- ARGV[9] name of the sending process, as in KEYS[7]; missing: not a
--         notification
-- ARGV[10] number of the notification among those that the process has sent;
--          missing: not a notification
--
-- A notification is sent again with the same number if its reply was lost. The
-- script ignores a number that is not above the last one of the process.
--
-- Returns {"OK"}.
--
-- Keys:
--   PREFIX:1:told       broadcasts that a joining node needs: ended sessions
--                       ("d") and log levels ("l")
--   PREFIX:1:heard      all other broadcasts
--   PREFIX:1:i:PROCESS  number of the last notification of a process
--
-- Fields of a broadcast: n node, p purpose, k key, s session, v value, e end of
-- its lifetime by the clock of Redis in ms, m message.

local LASTING_MAX, BROADCASTS_MAX = 262144, 4096
local MINUTE = 60000

local lasting, broadcasts, last = unpack(KEYS, 5, 7)
local purpose, topic, session, value, good, message, _, number = unpack(ARGV, 3,
    10)
local now = clock()
local lasts = purpose == 'd' or purpose == 'l'
local key = lasts and lasting or broadcasts

good = tonumber(good)

if last and tonumber(redis.call('GET', last) or 0) >= tonumber(number) then
    return {'OK'}
end

-- removes expired broadcasts from the beginning, at most 8
for _, entry in ipairs(redis.call('XRANGE', key, '-', '+', 'COUNT', 8)) do
    local fields = entry[2]
    local over = true

    for i = 1, #fields, 2 do
        if fields[i] == 'e' and tonumber(fields[i + 1]) > now then
            over = false
        end
    end

    if not over then
        break
    end

    redis.call('XDEL', key, entry[1])
end

redis.call('XADD', key, 'MAXLEN', '~',
    lasts and LASTING_MAX or BROADCASTS_MAX, '*',
    'n', node, 'p', purpose, 'k', topic, 's', session, 'v', value,
    'e', string.format('%.0f', now + good), 'm', message)

local ttl = lasts and math.max(good, MINUTE) or MINUTE

if redis.call('PTTL', key) < ttl then
    redis.call('PEXPIRE', key, ttl)
end

if last then
    redis.call('SET', last, number, 'PX', MINUTE)
end

return {'OK'}
