-- SPDX-License-Identifier: Apache-2.0
--
-- A client answers what a call has asked, or cancels a task, at whatever node.
--
-- ARGV: node; time after which silence is death, ms; stream; session that it has
-- to be of, or nothing; principal that it has to be of, or nothing; least turn
-- from now on; kind of the mail to its owner; the answers; three numbers for its
-- owner.  Returns {"OK", its number}, {"NONE"}: there is none, or it is over;
-- {"LATER"}, as of redis/resume.lua; or {"FULL"}.
--
-- i of the stream counts the bytes since its owner spoke last, s what clients have
-- brought, which is how it is numbered.  The owner gets it by mail, in this order,
-- also what was brought to its own node: whoever brought it may be dead by now.

local INBOX = 1048576

local said = redis.call('HMGET', head, 'o', 'g', 'x', 'i', 'd', 'p', 'v', 'l')

if not said[1] and is_doubtful() then
    return {'LATER'}
end

if not said[1] or ARGV[4] ~= '' and said[2] ~= ARGV[4]
    or ARGV[5] ~= '' and said[6] ~= ARGV[5] or string.byte(said[3]) >= OVER
then
    return {'NONE'}
end

if (tonumber(said[4]) or 0) + #ARGV[8] > INBOX then
    return {'FULL'}
end

local number = redis.call('HINCRBY', head, 's', 1)

redis.call('HINCRBY', head, 'i', #ARGV[8])
redis.call('HSET', head, 'd', whole(math.max(tonumber(said[5]),
    tonumber(ARGV[6]))))

-- a question of a task that is answered is not asked any more; a late answer is to
-- another one
if ARGV[7] == 'u' and said[8] == ARGV[10] then
    local task = with_answers(said[7], ARGV[9])
    local all = bit.tobit(ARGV[11])

    redis.call('HSET', head, 'v', task)

    if bit.band(string.match(task, '%d+$'), all) == all
        and string.byte(said[3]) == ASKS
    then
        redis.call('HSET', head, 'x', '0' .. string.sub(said[3], 2))
    end
end

mail(said[1], 'k', ARGV[7], 'm', ARGV[8], 'w', ARGV[9], 'a', ARGV[10],
    'l', ARGV[11], 'n', whole(number))

return {'OK', number}
