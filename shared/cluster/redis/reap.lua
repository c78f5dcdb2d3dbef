-- SPDX-License-Identifier: Apache-2.0
--
-- A node takes over what another one owned that is dead: a few streams at a
-- time, until there are none.
--
-- ARGV: node; time after which silence is death, ms; the dead one; its number of
-- beats, as it was seen.  Returns {"OK", {stream, number of its reader, last,
-- first one kept, confirmed, how it stands, what never changes, its topics, one
-- after the other, how far the dead one had heard the others, turn, what it is
-- as a task}, ...}, with none at the end, or {"ALIVE"}: it has beaten since.
--
-- PREFIX:1:o:NODE is the set of streams that a node owns and that go on.

local node, dead = ARGV[1], ARGV[3]
local STREAMS = 16

local mark, owned = prefix .. 'x:' .. dead, prefix .. 'o:' .. dead

if redis.call('EXISTS', mark) == 0 then
    if redis.call('ZSCORE', KEYS[1], dead) ~= ARGV[4] then
        return {'ALIVE'}
    end

    redis.call('SET', mark, node, 'PX', DAY)
end

local answer = {'OK'}

for _, id in ipairs(redis.call('SRANDMEMBER', owned, STREAMS)) do
    local head = prefix .. 'h:' .. id
    local said = redis.call('HMGET', head, 'o', 'w', 'l', 'f', 'k', 'x', 'n',
        'q', 'd', 'v')

    redis.call('SREM', owned, id)

    if said[1] == dead then
        redis.call('HSET', head, 'o', node)
        redis.call('SADD', prefix .. 'o:' .. node, id)
        redis.call('PEXPIRE', prefix .. 'o:' .. node, DAY)

        if said[7] == dead then
            redis.call('HSET', head, 'n', '')
        end

        answer[#answer + 1] = {
            id, tonumber(said[2]), tonumber(said[3]), tonumber(said[4]),
            tonumber(said[5]), said[6],
            redis.call('GET', prefix .. 'c:' .. id) or '',
            table.concat(redis.call('SMEMBERS', prefix .. 't:' .. id)),
            said[8] or '', tonumber(said[9]), said[10]
        }
    end
end

if #answer == 1 and redis.call('SCARD', owned) == 0 then
    redis.call('ZREM', KEYS[1], dead)
    redis.call('DEL', prefix .. 'n:' .. dead, prefix .. 'm:' .. dead)
end

return answer
