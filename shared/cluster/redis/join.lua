-- SPDX-License-Identifier: Apache-2.0
--
-- A node where others have joined a call fetches what follows, and says how far
-- they have read.
--
-- ARGV: node; time after which silence is death, ms; stream; number of the last
-- event that is there, or nothing: they join it now; last one sent; 1 if all
-- have left.  Returns {"OK", as redis/append.lua was told, sent, last, first one
-- kept, confirmed, how it stands, what never changes, number of the first event
-- that follows, turn, what it is as a task, and for each event its message and
-- what it answers}, {"LEFT"}, or {"NONE"}.

local node = ARGV[1]
local BYTES, EVENTS = 262144, 256

local said = redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 't', 'd', 'v',
    'a', 'u')

if not said[1] or not said[10] then
    return {'NONE'}
end

local last, first = tonumber(said[2]), tonumber(said[3])
local state, sent = string.byte(said[5]), tonumber(said[6])
local has = math.min(tonumber(ARGV[5]), last)

-- where there is a consumer, only what that one has counts
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

-- its response alone; else all that is kept, as the client that began the call may
-- resume it at that node
local after = tonumber(ARGV[4])
    or state >= OVER and last - 1
    or first - 1
local from = math.max(after + 1, first)

local answer = {
    'OK', said[9], whole(sent), last, first, tonumber(said[4]), said[5],
    redis.call('GET', spec) or '', from, tonumber(said[7]), said[8]
}

local size = 0

for _, entry in ipairs(redis.call('XRANGE', log, whole(from) .. '-0', '+',
    'COUNT', EVENTS))
do
    local message, answers = entry[2][2], entry[2][4]

    size = size + #message

    if size > BYTES and #answer > 11 then
        break
    end

    answer[#answer + 1] = message
    answer[#answer + 1] = answers
end

return answer
