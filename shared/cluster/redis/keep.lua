-- SPDX-License-Identifier: Apache-2.0
--
-- Renews the keys of many idle streams for the replicators of their owner's
-- process, as append.lua does for one.
--
-- KEYS[5] PREFIX:1:o:NODE of this node
-- KEYS[6] PREFIX:1:h:S of the first stream
-- KEYS[7] PREFIX:1:e:S
-- KEYS[8] PREFIX:1:c:S
-- KEYS[9] PREFIX:1:t:S
-- KEYS[10] PREFIX:1:b:S
-- KEYS[11] PREFIX:1:s:SESSION of its session
-- KEYS[12] PREFIX:1:a:SESSION, and so on for each stream
-- PREFIX:1:x:NODE of readers
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] id of the first stream
-- ARGV[4] number of its last event
-- ARGV[5] time to live of its keys, ms, and so on for each stream
--
-- Returns {"OK", reply, ...} with a reply for each stream, one of
--   {"OK", last, where, number, sent}  as append.lua
--   {"APPEND"}                         nothing was done for this stream, and
--                                      append.lua has to be run for it

local owned = KEYS[5]
local STREAM_KEYS, STREAM_ARGS = 7, 3
local answers = {'OK'}

-- Renews the keys of one stream, and returns the reply for it. Its keys are
-- keys[1] to keys[5], those of its session are the last two.
local function keep(keys, id, last, lasts)
    local said = redis.pcall('HMGET', keys[1], 'o', 'l', 'n', 'w', 't', 'x',
        'j', 'y', 'r', 'f', 's', 'h')
    local owner, its_last, reader, number, sent, state, given, query, report,
        first, input, processed = unpack(said)

    if said.err or owner ~= node or tonumber(its_last) ~= last
        or string.byte(state) >= OVER or given or query
        or is_posted(input, processed) == 1
        or lacks_keys(keys[2], keys[3], tonumber(first), last)
    then
        return {'APPEND'}
    end

    local elsewhere = reader ~= '' and reader ~= node

    number = tonumber(number)

    if elsewhere and (is_dead(reader) or is_silent(report, number)) then
        return {'APPEND'}
    end

    expire({unpack(keys, 1, 5)}, lasts)
    redis.call('SADD', owned, id)

    for i = 6, 7 do
        if redis.call('PTTL', keys[i]) < tonumber(lasts) then
            redis.call('PEXPIRE', keys[i], lasts)
        end
    end

    return {'OK', last, reader == node and 1 or reader == '' and 2 or 0, number,
        sent or '0'}
end

for i = 0, (#ARGV - 2) / STREAM_ARGS - 1 do
    local key, arg = 6 + i * STREAM_KEYS, 3 + i * STREAM_ARGS

    answers[#answers + 1] = keep({unpack(KEYS, key, key + STREAM_KEYS - 1)},
        ARGV[arg], tonumber(ARGV[arg + 1]), ARGV[arg + 2])
end

redis.call('PEXPIRE', owned, DAY)

return answers
