-- SPDX-License-Identifier: Apache-2.0
--
-- Returns the state of the streams of a session and principal that other nodes
-- own, and restarts the time for which they are kept without a reader.
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] session
-- ARGV[4] principal
--
-- Returns one of
--   {"OK", stream, ...}  each stream is a reply of lookup.lua without an event
--   {"LATER"}            Redis has lost keys, perhaps those of some streams

-- maximum number of streams that are examined, chosen at random
local STREAMS = 256

local all = prefix .. 's:' .. ARGV[3]
local answer = {'OK'}

if is_doubtful() then
    return {'LATER'}
end

for _, id in ipairs(redis.call('SRANDMEMBER', all, STREAMS)) do
    local head = prefix .. 'h:' .. id
    local said = redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 'p', 'd',
        's', 't', 'z', 'v', 'h')

    if not said[1] then
        redis.call('SREM', all, id)
    elseif said[1] ~= ARGV[1] and said[6] == ARGV[4] then
        local last = tonumber(said[2])

        -- a stream that is over expires after its last event was sent, no
        -- matter how often clients look it up
        if string.byte(said[5]) < OVER or tonumber(said[9]) < last then
            tell(said[1], id, 'k', 'o', 'a', '0')
            keep_stream(id, said[10])
        end

        answer[#answer + 1] = {
            'OK', last, tonumber(said[3]), tonumber(said[4]), said[5],
            redis.call('GET', prefix .. 'c:' .. id) or '', tonumber(said[7]),
            is_posted(said[8], said[12]), said[11]
        }
    end
end

return answer
