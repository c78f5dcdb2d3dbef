-- SPDX-License-Identifier: Apache-2.0
--
-- Subscribes a session's own stream to a topic, or unsubscribes it, at any
-- node.
--
-- KEYS[5] to KEYS[10] of the stream; KEYS[11] PREFIX:1:heard
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

local broadcasts = KEYS[11]
local session, topic, subscribes = unpack(ARGV, 4, 6)
local owner, its_session = unpack(redis.call('HMGET', head, 'o', 'g'))

if not owner or its_session ~= session then
    return {'NONE'}
end

redis.call(subscribes == '1' and 'SADD' or 'SREM', topics, topic)
redis.call('PEXPIRE', topics, redis.call('PTTL', head))

if owner ~= node then
    announce(broadcasts, node, 's', topic, session, subscribes, MINUTE)
end

return {'OK'}
