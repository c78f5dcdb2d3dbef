-- SPDX-License-Identifier: Apache-2.0
--
-- A client reads a stream at this node from now on; or a node that reads it
-- fetches more.
--
-- ARGV: node; time after which silence is death, ms; stream; number of the last
-- event that is there; session and principal that it has to be of, or nothing
-- to fetch.  Returns {"OK", number of this reader, 1 if the node is its owner,
-- last, first one kept, confirmed, how it stands, what never changes, number of
-- the first event that follows, and for each its message and what it answers},
-- {"NONE"}, or {"AHEAD"}: there is no such event yet.

local node, after = ARGV[1], tonumber(ARGV[4])
local BYTES, EVENTS = 262144, 256

local said = redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 'n', 'w', 'g',
    'p')
local owner, last, first = said[1], tonumber(said[2]), tonumber(said[3])
local number = tonumber(said[7])
local claims = ARGV[5] ~= ''

if not owner or claims and (said[8] ~= ARGV[5] or said[9] ~= ARGV[6]) then
    return {'NONE'}
end

if after > last then
    return {'AHEAD'}
end

is_read()

if claims then
    number = number + 1

    if owner ~= node then
        mail(owner, 'k', 'w', 'w', whole(number), 'a', ARGV[4])
    end

    if said[6] ~= '' and said[6] ~= node and said[6] ~= owner then
        mail(said[6], 'k', 'd', 'w', whole(number))
    end

    redis.call('HSET', head, 'n', node, 'w', whole(number), 't', ARGV[4],
        'k', whole(math.max(after, tonumber(said[4]))))
end

local from = math.max(after + 1, first)
local answer = {
    'OK', number, owner == node and 1 or 0, last, first, tonumber(said[4]),
    said[5], redis.call('GET', spec) or '', from
}

-- who owns it has them, unless it has just taken it over from a dead node
if claims and owner == node then
    return answer
end

local size = 0

for _, entry in ipairs(redis.call('XRANGE', log, whole(from) .. '-0', '+',
    'COUNT', EVENTS))
do
    local message, answers = entry[2][2], entry[2][4]

    size = size + #message

    if size > BYTES and #answer > 9 then
        break
    end

    answer[#answer + 1] = message
    answer[#answer + 1] = answers
end

return answer
