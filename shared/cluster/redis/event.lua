-- SPDX-License-Identifier: Apache-2.0
--
-- The owner copies events, and nothing else of their stream is new: the same as
-- redis/append.lua does then, for a fraction of its time.  What stands before the
-- other scripts would take as long as the rest, so constants are here once more.
--
-- ARGV: node; time after which silence is death, ms; stream; number of the first
-- event; last one sent, or nothing if its reader is elsewhere; how far the owner
-- of a listener had heard the others, or nothing; for each event its message and
-- what it answers.  What is there already is passed over.  Returns what
-- redis/append.lua does with "OK", or {"APPEND"}: that is to be run instead, and
-- nothing was done.

local prefix = string.sub(KEYS[1], 1, -6)
local node, id, first = ARGV[1], ARGV[3], tonumber(ARGV[4])
local head, log = prefix .. 'h:' .. id, prefix .. 'e:' .. id
local EVENTS = 7
local INLINE, MAIL = 8192, 16384
local OVER = string.byte('2')

local said = redis.call('HMGET', head, 'o', 'l', 'n', 'x')
local last, reader = tonumber(said[2]), said[3]
local elsewhere = reader ~= '' and reader ~= node

if said[1] ~= node or first > last + 1 or string.byte(said[4]) >= OVER
    or elsewhere and redis.call('EXISTS', prefix .. 'x:' .. reader) == 1
then
    return {'APPEND'}
end

local news, size = {'s', id, 'k', 'e'}, 0

for i = EVENTS, #ARGV, 2 do
    local seq = first + (i - EVENTS) / 2

    if seq > last then
        local number = string.format('%.0f', seq)

        -- what it makes would stay for ever
        if not redis.call('XADD', log, 'NOMKSTREAM', number .. '-0', 'm',
            ARGV[i], 'r', ARGV[i + 1])
        then
            return {'APPEND'}
        end

        last = seq
        size = size + #ARGV[i]

        if elsewhere and size <= INLINE then
            for _, word in ipairs({'q', number, 'm', ARGV[i], 'r',
                ARGV[i + 1]})
            do
                news[#news + 1] = word
            end
        end
    end
end

local number = string.format('%.0f', last)
local words = {'l', number, 'i', '0'}

if reader == node and ARGV[5] ~= '' then
    words[5], words[6] = 't', ARGV[5]
end

if ARGV[6] ~= '' then
    words[#words + 1] = 'q'
    words[#words + 1] = ARGV[6]
end

redis.call('HSET', head, unpack(words))

if reader == node then
    return {'OK', last, 1, 0, 0}
end

local known = redis.call('HMGET', head, 'w', 't', 'k', 'h')

if elsewhere and tonumber(said[2]) < last then
    local mail = prefix .. 'm:' .. reader

    for _, word in ipairs({'l', number, 'x', said[4], 'c', known[3], 'h',
        known[4]})
    do
        news[#news + 1] = word
    end

    redis.call('XADD', mail, 'MAXLEN', '~', MAIL, '*', unpack(news))
    redis.call('PEXPIRE', mail, 2 * ARGV[2])
end

return {'OK', last, elsewhere and 0 or 2, tonumber(known[1]), known[2]}
