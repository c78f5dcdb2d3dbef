-- SPDX-License-Identifier: Apache-2.0
--
-- Adds this node to the nodes where requests have joined a call, records how
-- far they have read, and returns the missing events for the mirror.
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] number of the last event of the mirror; empty: there is no mirror yet
-- ARGV[5] number of the last event that was sent to joined requests
-- ARGV[6] "1": no joined request is left at this node; empty: some read
--
-- Returns one of
--   {"OK", joined, sent, last, first, confirmed, state, constant values, from,
--    generation, task values, message, answers, ...}
--     joined     ARGV[21] of append.lua
--     sent       number of the last event that was sent to a client
--     last       number of the last event
--     first      number of the first event that Redis keeps
--     confirmed  number of the last confirmed event
--     from       number of the first returned event
--     message, answers   of each returned event, see with_events()
--   {"LEFT"}  the node was removed
--   {"NONE"}  there is no such stream, or requests cannot join it

local node = ARGV[1]
local said = redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 't', 'd', 'v',
    'a', 'u')

if not said[1] or not said[10] then
    return {'NONE'}
end

local last, first = tonumber(said[2]), tonumber(said[3])
local state, sent = string.byte(said[5]), tonumber(said[6])
local has = math.min(tonumber(ARGV[5]), last)

-- while the stream has a consumer, events sent to joined requests do not count
if said[9] == '0' and has > sent then
    sent = has
    redis.call('HSET', head, 't', whole(sent))
end

mail(said[1], 'k', 'b', 'a', whole(has))

if ARGV[6] == '1' then
    redis.call('SREM', joined, node)
    return {'LEFT'}
end

redis.call('SADD', joined, node)
redis.call('PEXPIRE', joined, math.max(redis.call('PTTL', head), 1))

-- A new mirror of a stream that is over needs only the response. Otherwise it
-- begins with the first event that is kept, because the client that began the
-- call may resume the call at this node.
local after = tonumber(ARGV[4])
    or state >= OVER and last - 1
    or first - 1
local from = math.max(after + 1, first)

local answer = {
    'OK', said[9], whole(sent), last, first, tonumber(said[4]), said[5],
    redis.call('GET', spec) or '', from, tonumber(said[7]), said[8]
}

return with_events(answer, from)
