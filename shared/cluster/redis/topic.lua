-- SPDX-License-Identifier: Apache-2.0
--
-- A session subscribes its own stream to a topic, or unsubscribes it, at any
-- node.
--
-- ARGV: node; time after which silence is death, ms; stream; session that it has
-- to be of; topic; 1, or 0 to unsubscribe.  Returns {"OK"}: its owner hears of it
-- before all that is told from now on; or {"NONE"}.

local said = redis.call('HMGET', head, 'o', 'g')

if not said[1] or said[2] ~= ARGV[4] then
    return {'NONE'}
end

redis.call(ARGV[6] == '1' and 'SADD' or 'SREM', topics, ARGV[5])
redis.call('PEXPIRE', topics, redis.call('PTTL', head))

if said[1] ~= ARGV[1] then
    announce(ARGV[1], 's', ARGV[5], ARGV[4], ARGV[6], MINUTE)
end

return {'OK'}
