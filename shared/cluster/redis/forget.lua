-- SPDX-License-Identifier: Apache-2.0
--
-- The owner has freed its stream.
--
-- ARGV: node; time after which silence is death, ms; stream.  Returns {"OK"}.

local said = redis.call('HMGET', head, 'o', 'n', 'g')

if said[1] == ARGV[1] then
    if said[2] ~= '' and said[2] ~= ARGV[1] then
        mail(said[2], 'k', 'f')
    end

    redis.call('DEL', head, log, spec, topics, listeners)
    redis.call('SREM', prefix .. 's:' .. said[3], ARGV[3])
    redis.call('SREM', prefix .. 'a:' .. said[3], ARGV[3])
end

return {'OK'}
