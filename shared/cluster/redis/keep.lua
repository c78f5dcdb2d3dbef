-- SPDX-License-Identifier: Apache-2.0
--
-- Renews the keys of many idle streams for the replicators of their owner's
-- process, as append.lua does for one.
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

local node = ARGV[1]
local owned = prefix .. 'o:' .. node
local answers = {'OK'}

local function keep(id, last, lasts)
    local said = redis.pcall('HMGET', prefix .. 'h:' .. id, 'o', 'l', 'n', 'w',
        't', 'x', 'j', 'y', 'r', 'g')

    if said.err or said[1] ~= node or tonumber(said[2]) ~= last
        or string.byte(said[6]) >= OVER or said[7] or said[8]
    then
        return {'APPEND'}
    end

    local reader, number = said[3], tonumber(said[4])
    local elsewhere = reader ~= '' and reader ~= node

    if elsewhere and (redis.call('EXISTS', prefix .. 'x:' .. reader) == 1
        or is_silent(said[9], number))
    then
        return {'APPEND'}
    end

    keep_stream(id, lasts)
    redis.call('SADD', owned, id)

    for _, kind in ipairs({'s:', 'a:'}) do
        local key = prefix .. kind .. said[10]

        if redis.call('PTTL', key) < tonumber(lasts) then
            redis.call('PEXPIRE', key, lasts)
        end
    end

    return {'OK', last, reader == node and 1 or reader == '' and 2 or 0, number,
        said[5] or '0'}
end

for i = 3, #ARGV, 3 do
    answers[#answers + 1] = keep(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
end

redis.call('PEXPIRE', owned, DAY)

return answers
