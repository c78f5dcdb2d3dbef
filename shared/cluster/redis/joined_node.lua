-- SPDX-License-Identifier: Apache-2.0
--
-- Adds this node to the nodes where requests have joined a call, records how
-- far they have read, and returns the missing events for the mirror.
--
-- KEYS[5] to KEYS[10] of the stream
-- PREFIX:1:m:NODE of the owner
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] number of the last event of the mirror; empty: there is no mirror yet
-- ARGV[5] number of the last event that was sent to joined requests
-- ARGV[6] "1": no joined request is left at this node; empty: some are left
--
-- Returns one of
--   {"OK", joined, sent, last, first, confirmed, state, constant values, from,
--    generation, task values, message, answers, ...}
--     joined     "joined_how" of append.lua
--     sent       number of the last event that was sent to a client
--     last       number of the last event
--     first      number of the first event that Redis keeps
--     confirmed  number of the last confirmed event
--     from       number of the first returned event
--     message, answers   of each returned event, see with_events()
--   {"LEFT"}  the node was removed
--   {"NONE"}  there is no such stream, Redis has lost some of its keys, or
--             requests cannot join it

local mirrored, read, left = unpack(ARGV, 4, 6)
local owner, last, first, confirmed, state, sent, generation, task, joined_how,
    digest = unpack(redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 't', 'd',
        'v', 'a', 'u'))

if not owner or not digest then
    return {'NONE'}
end

last, first, sent = tonumber(last), tonumber(first), tonumber(sent)

if lacks_keys(log, spec, first, last) then
    remove_incomplete()
    return {'NONE'}
end

local has = math.min(tonumber(read), last)

-- while the stream has a consumer, events sent to joined requests do not count
if joined_how == '0' and has > sent then
    sent = has
    redis.call('HSET', head, 't', whole(sent))
end

queue(owner, 'k', 'b', 'a', whole(has))

if left == '1' then
    redis.call('SREM', joined, node)
    return {'LEFT'}
end

redis.call('SADD', joined, node)
redis.call('PEXPIRE', joined, math.max(redis.call('PTTL', head), 1))

-- A new mirror of a stream that is over needs only the response. Otherwise it
-- begins with the first event that is kept, because the client that began the
-- call may resume the call at this node.
local after = tonumber(mirrored)
    or string.byte(state) >= OVER and last - 1
    or first - 1
local from = math.max(after + 1, first)

local answer = {
    'OK', joined_how, whole(sent), last, first, tonumber(confirmed), state,
    redis.call('GET', spec) or '', from, tonumber(generation), task
}

if not with_events(answer, from, last) then
    remove_incomplete()
    return {'NONE'}
end

return answer
