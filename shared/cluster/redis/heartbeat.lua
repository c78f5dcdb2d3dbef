-- SPDX-License-Identifier: Apache-2.0
--
-- A member lives.
--
-- ARGV: node; time after which silence is death, ms.  Returns what answer()
-- does, {"DEAD"}, or {"GONE"}: nobody knows the node, it has to say hello.

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
