-- SPDX-License-Identifier: Apache-2.0
--
-- A node takes over what another one owned that is dead: a few streams at a
-- time, until there are none; or asks again for what it was given so, and has
-- said nothing of yet.
--
-- ARGV: node; time after which silence is death, ms; the dead one, or the node
-- itself; its number of beats, as it was seen.  Returns {"OK", {stream, number
-- of its reader, last, first one kept, confirmed, how it stands, what never
-- changes, how far the dead one had heard the others, turn, what it is as a task},
-- ...}, with none at the end, {"MORE"}: none yet, {"ALIVE"}: it has beaten since,
-- or {"FENCED"}: the node itself was taken for dead.
--
-- PREFIX:1:o:NODE is the set of streams that a node owns and that go on,
-- PREFIX:1:g:NODE of those among them that it was given and has said nothing of
-- yet; field j of such a stream is there.

local node, dead = ARGV[1], ARGV[3]
local STREAMS, ROUNDS = 16, 64

local owned, given = prefix .. 'o:' .. node, prefix .. 'g:' .. node

local function described(id)
    local head = prefix .. 'h:' .. id
    local said = redis.call('HMGET', head, 'w', 'l', 'f', 'k', 'x', 'q', 'd',
        'v')
    local spec = redis.pcall('GET', prefix .. 'c:' .. id)

    return {
        id, tonumber(said[1]), tonumber(said[2]), tonumber(said[3]),
        tonumber(said[4]), said[5],
        type(spec) == 'string' and spec or '',
        said[6] or '', tonumber(said[7]), said[8]
    }
end

if redis.call('EXISTS', prefix .. 'x:' .. node) == 1 then
    return {'FENCED'}
end

local answer = {'OK'}

if dead == node then
    for _, id in ipairs(redis.call('SRANDMEMBER', given, STREAMS)) do
        if redis.pcall('HGET', prefix .. 'h:' .. id, 'o') == node then
            answer[#answer + 1] = described(id)
        else
            redis.call('SREM', given, id)
        end
    end

    return answer
end

local mark, left = prefix .. 'x:' .. dead, prefix .. 'o:' .. dead

if redis.call('EXISTS', mark) == 0 then
    if redis.call('ZSCORE', KEYS[1], dead) ~= ARGV[4] then
        return {'ALIVE'}
    end

    redis.call('SET', mark, node, 'PX', DAY)
end

local function take_over(id)
    local head = prefix .. 'h:' .. id
    local said = redis.pcall('HMGET', head, 'o', 'n')

    redis.call('SREM', left, id)

    if said[1] == dead then
        redis.call('HSET', head, 'o', node, 'j', '1',
            'n', said[2] == dead and '' or said[2])

        for _, set in ipairs({owned, given}) do
            redis.call('SADD', set, id)
            redis.call('PEXPIRE', set, DAY)
        end

        answer[#answer + 1] = described(id)
    end
end

-- some that are named there may have expired: they are passed over
for _ = 1, ROUNDS do
    local ids = redis.call('SRANDMEMBER', left, STREAMS)

    for _, id in ipairs(ids) do
        take_over(id)
    end

    if #answer > 1 then
        return answer
    end

    if #ids == 0 then
        redis.call('ZREM', KEYS[1], dead)
        redis.call('DEL', prefix .. 'n:' .. dead, prefix .. 'm:' .. dead,
            prefix .. 'g:' .. dead)
        return answer
    end
end

return {'MORE'}
