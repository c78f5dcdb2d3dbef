-- SPDX-License-Identifier: Apache-2.0
--
-- Records a heartbeat of a member.
--
-- KEYS as in common_registration.lua
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
--
-- Returns the values of answer() in common_registration.lua, or
--   {"DEAD"}  the node was declared dead
--   {"GONE"}  Redis lacks the data of the node, which has to register again

if is_declared_dead() then
    return {'DEAD'}
end

if redis.call('EXISTS', own_data) == 0 then
    return {'GONE'}
end

local now = clock()

redis.call('ZINCRBY', nodes, 1, node)
keep(now)

return answer(now)
