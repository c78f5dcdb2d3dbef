-- SPDX-License-Identifier: Apache-2.0
--
-- Removes a stream that its owner has freed, and notifies the nodes that read
-- it or have joined it. Has no effect on a stream of another owner.
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] "1": keep the stream if it is over; empty: remove it in any state
--
-- Returns {"OK"}.

local said = redis.call('HMGET', head, 'o', 'n', 'g', 'u', 'x')

if said[1] == ARGV[1]
    and not (ARGV[4] == '1' and string.byte(said[5]) >= OVER)
then
    if said[2] ~= '' and said[2] ~= ARGV[1] then
        mail(said[2], 'k', 'f')
    end

    for _, other in ipairs(redis.call('SMEMBERS', joined)) do
        mail(other, 'k', 'f')
    end

    local found = prefix .. 'j:' .. (said[4] or '')

    if redis.call('GET', found) == ARGV[3] then
        redis.call('DEL', found)
    end

    redis.call('DEL', head, log, spec, topics, listeners, joined)
    redis.call('SREM', prefix .. 's:' .. said[3], ARGV[3])
    redis.call('SREM', prefix .. 'a:' .. said[3], ARGV[3])
    redis.call('SREM', prefix .. 'o:' .. ARGV[1], ARGV[3])
end

return {'OK'}
