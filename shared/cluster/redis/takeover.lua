-- SPDX-License-Identifier: Apache-2.0
--
-- Declares a node dead and assigns its streams to the caller, at most STREAMS
-- at a time; or returns streams that were assigned to the caller and that the
-- caller has not replicated yet, if ARGV[3] is the caller.
--
-- KEYS[5] PREFIX:1:o:NODE of this node
-- KEYS[6] PREFIX:1:g:NODE of this node
-- KEYS[7] PREFIX:1:x:NODE of the dead node
-- KEYS[8] PREFIX:1:o:NODE of the dead node
-- KEYS[9] PREFIX:1:n:NODE of the dead node
-- KEYS[10] PREFIX:1:m:NODE of the dead node
-- KEYS[11] PREFIX:1:g:NODE of the dead node
-- the keys PREFIX:1:*:S of the streams in KEYS[6] or KEYS[8]
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] the dead node, or the caller
-- ARGV[4] number of heartbeats of the dead node in the last reply of
--         heartbeat.lua to the caller
--
-- Returns one of
--   {"OK", stream, ...}  streams of the dead node that were just assigned, or
--                        streams that were assigned before; without a stream
--                        none is left
--   {"MORE"}             the streams of ROUNDS rounds do not exist any more:
--                        run the script again
--   {"ALIVE"}            the node has sent a heartbeat in the meantime: its
--                        number of heartbeats is not ARGV[4]
--   {"FENCED"}           the caller was declared dead
--
-- Each stream is {id, number of its reader, last event, first kept event, last
-- confirmed event, state, constant values, position of the last broadcast that
-- the owner of a session's own stream had received, generation, task values}.
--
-- Keys:
--   PREFIX:1:o:NODE  the active streams that a node owns
--   PREFIX:1:g:NODE  the active streams that were assigned to a node and that
--                    the node has not replicated yet; their field j exists

local owned, assigned, dead_mark, left, dead_data, dead_queue, dead_assigned =
    unpack(KEYS, 5, 11)
local dead, heartbeats = ARGV[3], ARGV[4]
local STREAMS, ROUNDS = 16, 64

-- Returns the values of a stream for the reply.
local function described(id)
    local head = prefix .. 'h:' .. id
    local number, last, first, confirmed, state, position, generation, task
        = unpack(redis.call('HMGET', head, 'w', 'l', 'f', 'k', 'x', 'q', 'd',
            'v'))
    local spec = redis.pcall('GET', prefix .. 'c:' .. id)

    return {
        id, tonumber(number), tonumber(last), tonumber(first),
        tonumber(confirmed), state, type(spec) == 'string' and spec or '',
        position or '', tonumber(generation), task
    }
end

-- Returns true if a stream has lost its constant values. Then removes the
-- stream, because no node can continue it.
local function lacks_spec(id)
    if redis.call('EXISTS', prefix .. 'c:' .. id) == 1 then
        return false
    end

    for _, kind in ipairs({'h:', 'e:', 't:', 'b:', 'k:'}) do
        redis.call('DEL', prefix .. kind .. id)
    end

    return true
end

if is_declared_dead() then
    return {'FENCED'}
end

local answer = {'OK'}

if dead == node then
    for _, id in ipairs(redis.call('SRANDMEMBER', assigned, STREAMS)) do
        if redis.pcall('HGET', prefix .. 'h:' .. id, 'o') == node
            and not lacks_spec(id)
        then
            answer[#answer + 1] = described(id)
        else
            redis.call('SREM', assigned, id)
        end
    end

    return answer
end

if redis.call('EXISTS', dead_mark) == 0 then
    if redis.call('ZSCORE', nodes, dead) ~= heartbeats then
        return {'ALIVE'}
    end

    redis.call('SET', dead_mark, node, 'PX', DAY)
end

-- Assigns a stream to the caller and adds it to the reply, unless the stream
-- does not exist or has another owner. If Redis has lost events that the dead
-- node has not written again, the stream continues after the last event that
-- clients may have received, without earlier events. So the error of the caller
-- gets a new number.
local function take_over(id)
    local head = prefix .. 'h:' .. id
    local owner, reader, missing = unpack(redis.pcall('HMGET', head, 'o', 'n',
        'm'))

    redis.call('SREM', left, id)

    if owner == dead and not lacks_spec(id) then
        redis.call('HSET', head, 'o', node, 'j', '1',
            'n', reader == dead and '' or reader)

        if missing then
            redis.call('HSET', head, 'l', missing,
                'f', string.format('%.0f', missing + 1))
            redis.call('HDEL', head, 'm')
            redis.call('DEL', prefix .. 'e:' .. id)
        end

        for _, set in ipairs({owned, assigned}) do
            redis.call('SADD', set, id)
            redis.call('PEXPIRE', set, DAY)
        end

        answer[#answer + 1] = described(id)
    end
end

-- all streams of a round may have expired: try again, up to ROUNDS times
for _ = 1, ROUNDS do
    local ids = redis.call('SRANDMEMBER', left, STREAMS)

    for _, id in ipairs(ids) do
        take_over(id)
    end

    if #answer > 1 then
        return answer
    end

    if #ids == 0 then
        redis.call('ZREM', nodes, dead)
        redis.call('DEL', dead_data, dead_queue, dead_assigned)
        return answer
    end
end

return {'MORE'}
