-- SPDX-License-Identifier: Apache-2.0
--
-- Records a heartbeat of a member.
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
--
-- Returns the values of answer() in common_members.lua, or
--   {"DEAD"}  the node was declared dead
--   {"GONE"}  Redis lacks the data of the node, which has to register again

local node, dead_after = ARGV[1], tonumber(ARGV[2])

if redis.call('EXISTS', prefix .. 'x:' .. node) == 1 then
    return {'DEAD'}
end

if redis.call('EXISTS', prefix .. 'n:' .. node) == 0 then
    return {'GONE'}
end

local now = clock()

redis.call('ZINCRBY', KEYS[1], 1, node)
keep(node, now)

return answer(now, dead_after)
