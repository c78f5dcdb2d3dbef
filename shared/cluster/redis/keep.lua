-- SPDX-License-Identifier: Apache-2.0
--
-- The owner says of many streams that they go on, and that nothing of them is new:
-- what redis/append.lua does then, in one script for all.
--
-- ARGV: node; time after which silence is death, ms; for each stream its id, the
-- number of its last event, and how long it lasts, ms.  Returns {"OK", then for each
-- stream what redis/append.lua does with "OK", or {"APPEND"}: that is to be run for
-- this one, and nothing was done}.

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
