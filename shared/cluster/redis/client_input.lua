-- SPDX-License-Identifier: Apache-2.0
--
-- Accepts client input for a call and puts it into the node queue of the owner:
-- answers to the call's questions, or the cancellation of a task. Input that
-- the owner's own node accepts is queued as well, because the queue keeps the
-- order of all input, and because the process that accepts the input may die.
--
-- KEYS[5] to KEYS[10] of the stream
-- PREFIX:1:n:NODE and PREFIX:1:x:NODE of the members
-- PREFIX:1:m:NODE of the owner
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
--   {"LATER"}       Redis may have lost the stream, or its owner may be cut off
--   {"FULL"}        the client input since the owner last appended would exceed
--                   INBOX

-- maximum size of the client input between two appends of the owner, bytes
local INBOX = 1048576

local session, principal, generation, kind, answers, bits, seq, all_bits
    = unpack(ARGV, 4, 11)
local owner, its_session, state, unread, its_generation, its_principal, task,
    last = unpack(redis.call('HMGET', head, 'o', 'g', 'x', 'i', 'd', 'p', 'v',
        'l'))

if not owner and may_exist() then
    return {'LATER'}
end

if not owner or session ~= '' and its_session ~= session
    or principal ~= '' and its_principal ~= principal
    or string.byte(state) >= OVER
then
    return {'NONE'}
end

if (tonumber(unread) or 0) + #answers > INBOX then
    return {'FULL'}
end

local number = redis.call('HINCRBY', head, 's', 1)

redis.call('HINCRBY', head, 'i', #answers)
redis.call('HSET', head, 'd', whole(math.max(tonumber(its_generation),
    tonumber(generation))))

-- Marks questions of a task as answered, unless the answers are late and belong
-- to an earlier event. If all questions are answered, the task is processing
-- again.
if kind == 'u' and last == seq then
    local all = bit.tobit(all_bits)

    task = with_answers(task, bits)
    redis.call('HSET', head, 'v', task)

    if bit.band(string.match(task, '%d+$'), all) == all
        and string.byte(state) == INPUT_REQUIRED
    then
        redis.call('HSET', head, 'x', '0' .. string.sub(state, 2))
    end
end

queue(owner, 'k', kind, 'm', answers, 'w', bits, 'a', seq, 'l', all_bits,
    'n', whole(number))

return {'OK', number}
