-- SPDX-License-Identifier: Apache-2.0
--
-- Appends events of a stream of which nothing else has changed. The effect is
-- that of append.lua, at less than half the cost. The common functions of
-- common_members.lua and common_streams.lua would cost as much as the rest of
-- this script, so it runs without them and repeats their constants.
--
-- KEYS[1] PREFIX:1:h:S
-- KEYS[2] PREFIX:1:e:S
-- KEYS[3] PREFIX:1:x:NODE of this node, not used; see common_members.lua
-- PREFIX:1:m:NODE and PREFIX:1:x:NODE of the reader
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] number of the event ARGV[7]
-- ARGV[5] number of the last event that was sent to a client at this node;
--         empty: the reader is at another node
-- ARGV[6] of a session's own stream: position of the last broadcast that the
--         owner had received before it read the events; empty: unchanged
-- ARGV[7] message of the first event
-- ARGV[8] answers of the first event, and so on for each event
--
-- Events that Redis has are ignored.
--
-- Returns one of
--   {"OK", last, where, number, sent}  as append.lua; number and sent are 0 if
--                                      the reader is at this node
--   {"APPEND"}                         nothing was done, and append.lua has to
--                                      be run instead

local head, log = KEYS[1], KEYS[2]
local node, node_timeout, stream, first, sent_here, position = unpack(ARGV, 1,
    6)
local EVENTS = 7
local INLINE, QUEUE_MAX = 8192, 16384
local OVER = string.byte('2')

-- prefix of the names of the reader's keys
local prefix = string.sub(head, 1, -3 - #stream)

local owner, was_last, reader, state = unpack(redis.call('HMGET', head, 'o',
    'l', 'n', 'x'))
local last = tonumber(was_last)
local elsewhere = reader ~= '' and reader ~= node

if owner ~= node or tonumber(first) > last + 1 or string.byte(state) >= OVER
    or elsewhere and redis.call('EXISTS', prefix .. 'x:' .. reader) == 1
then
    return {'APPEND'}
end

local news, size = {'s', stream, 'k', 'e'}, 0

for i = EVENTS, #ARGV, 2 do
    local seq = first + (i - EVENTS) / 2

    if seq > last then
        local number = string.format('%.0f', seq)

        -- without NOMKSTREAM, XADD would create a log without a time to live
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

if reader == node and sent_here ~= '' then
    words[5], words[6] = 't', sent_here
end

if position ~= '' then
    words[#words + 1] = 'q'
    words[#words + 1] = position
end

redis.call('HSET', head, unpack(words))

if reader == node then
    return {'OK', last, 1, 0, 0}
end

local reader_number, sent, confirmed, processed = unpack(redis.call('HMGET',
    head, 'w', 't', 'k', 'h'))

if elsewhere and tonumber(was_last) < last then
    local queue = prefix .. 'm:' .. reader

    for _, word in ipairs({'l', number, 'x', state, 'c', confirmed, 'h',
        processed})
    do
        news[#news + 1] = word
    end

    redis.call('XADD', queue, 'MAXLEN', '~', QUEUE_MAX, '*', unpack(news))
    redis.call('PEXPIRE', queue, 2 * node_timeout)
end

return {'OK', last, elsewhere and 0 or 2, tonumber(reader_number), sent}
