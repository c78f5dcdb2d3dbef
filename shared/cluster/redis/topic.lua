-- SPDX-License-Identifier: Apache-2.0
--
-- Subscribes a session's own stream to a topic, or unsubscribes it, at any
-- node.
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] session that the stream must have
-- ARGV[5] topic
-- ARGV[6] "1": subscribe; "0": unsubscribe
--
-- Returns one of
--   {"OK"}    the owner receives the change before all later broadcasts
--   {"NONE"}  there is no such stream

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
