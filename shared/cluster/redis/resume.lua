-- SPDX-License-Identifier: Apache-2.0
--
-- A client reads a stream at this node from now on; or a node that reads it
-- fetches more.
--
-- ARGV: node; time after which silence is death, ms; stream; number of the last
-- event that is there, or nothing: the last one sent; session that it has to be
-- of, or nothing; principal, or nothing to fetch; least turn from now on, or
-- nothing, and the one above which there is no such stream; 1 to drop what is
-- there already; 1 if the stream itself is at this node.  Returns {"OK", number
-- of this reader, 1 if the node is its owner, last, first one kept, confirmed,
-- how it stands, what never changes, number of the first event that follows,
-- turn, numbers of the last of what clients have brought and of what its owner is
-- through with, bytes of its longest event, and for each event its message and what
-- it answers}, {"NONE"}, {"LATER"}: Redis has lost keys, perhaps those of
-- the stream, or {"AHEAD"}: there is no such event yet.

local node = ARGV[1]
local BYTES, EVENTS = 262144, 256

local said = redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 'n', 'w', 'g',
    'p', 't', 'd', 's', 'e', 'h')
local owner, last, first = said[1], tonumber(said[2]), tonumber(said[3])
local number, turn = tonumber(said[7]), tonumber(said[11])
local claims = ARGV[6] ~= ''

-- a session's own stream is begun anew, and the owner of the other one ends it
if not owner and claims and ARGV[4] ~= '' and is_doubtful() then
    return {'LATER'}
end

if not owner
    or claims and (ARGV[5] ~= '' and said[8] ~= ARGV[5] or said[9] ~= ARGV[6])
    or claims and ARGV[7] ~= '' and turn > tonumber(ARGV[8])
then
    return {'NONE'}
end

-- what is over its node may have freed before others
local own = owner == node
    and (ARGV[10] == '1' or string.byte(said[5]) < OVER)

-- what Redis has lost was not sent
local after = tonumber(ARGV[4]) or math.min(tonumber(said[10]), last)

if after > last then
    return {ends_before(owner, said[5], last, ARGV[4])}
end

local confirmed = math.max(tonumber(ARGV[4]) or 0, tonumber(said[4]))

-- somebody has deleted a part of it: its owner, if it lives, begins it anew
if redis.call('EXISTS', spec) == 0
    or last >= first and redis.call('EXISTS', log) == 0
then
    redis.call('DEL', head, log, spec)
    note_loss()
    return {claims and ARGV[4] ~= '' and 'LATER' or 'NONE'}
end

is_read(said[5], after, last)

if claims then
    known(node)
    number = number + 1

    if owner ~= node then
        mail(owner, 'k', 'w', 'w', whole(number), 'a', whole(after), 'c',
            whole(confirmed), 'f', ARGV[9])
    end

    if said[6] ~= '' and said[6] ~= node and said[6] ~= owner then
        mail(said[6], 'k', 'd', 'w', whole(number))
    end

    if ARGV[7] ~= '' then
        turn = math.max(turn, tonumber(ARGV[7]))
    end

    if ARGV[9] == '1' then
        first = math.max(first, after + 1)
        redis.call('XTRIM', log, 'MINID', whole(first) .. '-0')
    end

    redis.call('HSET', head, 'n', node, 'w', whole(number), 't', whole(after),
        'k', whole(confirmed), 'f', whole(first), 'd', whole(turn))

    if owner ~= node then
        reads(number)
    end
end

local from = math.max(after + 1, first)
local answer = {
    'OK', number, own and 1 or 0, last, first, tonumber(said[4]),
    said[5], redis.call('GET', spec) or '', from, turn,
    tonumber(said[12]) or 0, tonumber(said[14]) or 0, tonumber(said[13]) or 0
}

-- who owns it has them, unless it has just taken it over from a dead node
if claims and own then
    return answer
end

local size = 0

for _, entry in ipairs(redis.call('XRANGE', log, whole(from) .. '-0', '+',
    'COUNT', EVENTS))
do
    local message, answers = entry[2][2], entry[2][4]

    size = size + #message

    if size > BYTES and #answer > 13 then
        break
    end

    answer[#answer + 1] = message
    answer[#answer + 1] = answers
end

return answer
