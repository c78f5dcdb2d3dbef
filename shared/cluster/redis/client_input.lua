-- SPDX-License-Identifier: Apache-2.0
--
-- Accepts client input for a call and puts it into the node queue of the owner:
-- answers to the call's questions, or the cancellation of a task. Input that
-- the owner's own node accepts is queued as well, because the queue keeps the
-- order of all input, and because the process that accepts the input may die.
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] session that the stream must have; empty: any
-- ARGV[5] principal that the stream must have; empty: any
-- ARGV[6] minimum generation from now on; 0: unchanged
-- ARGV[7] kind of the queue entry: "p" answers, "u" answers to questions of a
--         task, "x" cancellation of a task
-- ARGV[8] the answers
-- ARGV[9] of "u": bits of the answered questions
-- ARGV[10] of "u": number of the event with the questions
-- ARGV[11] of "u": bits of all questions of the event
--
-- Returns one of
--   {"OK", number}  number of the client input
--   {"NONE"}        there is no such stream, or it is over
--   {"LATER"}       Redis has lost keys, perhaps those of the stream
--   {"FULL"}        the client input since the owner last appended would exceed
--                   INBOX

-- maximum size of the client input between two appends of the owner, bytes
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

-- Marks questions of a task as answered, unless the answers are late and belong
-- to an earlier event. If all questions are answered, the task is processing
-- again.
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
