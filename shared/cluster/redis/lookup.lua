-- SPDX-License-Identifier: Apache-2.0
--
-- Returns the state of a stream, records that a client has confirmed an event,
-- and restarts the time for which the stream is kept without a reader. The
-- owner's node runs this script like other nodes, because these may have
-- accepted client input.
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] number of the last event that the client confirms; 0: none
-- ARGV[5] session that the stream must have; empty: any
-- ARGV[6] principal that the stream must have
-- ARGV[7] "1": return the last event as well; "2": also notify this node when
--         the task changes; empty: neither
--
-- Returns one of
--   {"OK", last, first, confirmed, state, constant values, generation, pending,
--    task values, message, answers}
--     last       number of the last event
--     first      number of the first event that Redis keeps
--     confirmed  number of the last confirmed event
--     pending    1 if there is client input that the owner has not processed,
--                otherwise 0
--     message, answers   of the last event, if requested and kept
--   {"NONE"}   there is no such stream, or it does not have the event ARGV[4]
--   {"LATER"}  Redis has lost keys, perhaps those of the stream
--   {"AHEAD"}  the event ARGV[4] does not exist yet: the node has to repeat the
--              command

local after = tonumber(ARGV[4])

local said = redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 'g', 'p', 'd',
    's', 't', 'z', 'v', 'h')
local last = tonumber(said[2])

if not said[1] and is_doubtful() then
    return {'LATER'}
end

if not said[1] or ARGV[5] ~= '' and said[6] ~= ARGV[5] or said[7] ~= ARGV[6] then
    return {'NONE'}
end

if after > last then
    return {ends_before(said[1], said[5], last, ARGV[4])}
end

local confirmed = math.max(after, tonumber(said[4]))

redis.call('HSET', head, 'k', whole(confirmed))

if said[1] ~= ARGV[1] then
    mail(said[1], 'k', 'o', 'a', ARGV[4])
end

-- a stream that is over expires after its last event was sent, no matter how
-- often clients look it up
if string.byte(said[5]) < OVER or tonumber(said[10]) < last then
    last_for(said[11])
end

local answer = {
    'OK', last, tonumber(said[3]), confirmed, said[5],
    redis.call('GET', spec) or '', tonumber(said[8]),
    is_posted(said[9], said[13]), said[12]
}

if ARGV[7] == '2' then
    redis.call('SADD', listeners, ARGV[1])
    redis.call('PEXPIRE', listeners, redis.call('PTTL', head))
end

if ARGV[7] ~= '' then
    for _, entry in ipairs(redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)) do
        answer[#answer + 1] = entry[2][2]
        answer[#answer + 1] = entry[2][4]
    end
end

return answer
