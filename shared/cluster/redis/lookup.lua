-- SPDX-License-Identifier: Apache-2.0
--
-- Returns the state of a stream, records that a client has confirmed an event,
-- and restarts the time for which the stream is kept without a reader. The
-- owner's node runs this script like other nodes, because these may have
-- accepted client input.
--
-- KEYS[5] to KEYS[10] of the stream
-- PREFIX:1:n:NODE and PREFIX:1:x:NODE of the members
-- PREFIX:1:m:NODE of the owner
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] number of the last event that the client confirms; 0: none
-- ARGV[5] session that the stream must have; empty: any
-- ARGV[6] principal that the stream must have
-- ARGV[7] "1": return the last event as well; "2": also notify this node when
--         the task changes; empty: neither
-- ARGV[8] "1": the stream was created less than a node timeout ago; empty:
--         earlier, or not known
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
--   {"LATER"}  Redis may have lost the stream, or its owner may be cut off
--   {"AHEAD"}  the event ARGV[4] does not exist yet: the node has to repeat the
--              command

local after, session, principal, wants, young = unpack(ARGV, 4, 8)

local owner, last, first, confirmed, state, its_session, its_principal,
    generation, input, sent, lasts, task, processed = unpack(
        redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 'g', 'p', 'd', 's',
            't', 'z', 'v', 'h'))

if not owner and may_exist(young) then
    return {'LATER'}
end

if not owner or session ~= '' and its_session ~= session
    or its_principal ~= principal
then
    return {'NONE'}
end

last = tonumber(last)

if tonumber(after) > last then
    return {ends_before(owner, state, last, after)}
end

if lacks_keys(log, spec, tonumber(first), last) then
    remove_incomplete()
    return {'LATER'}
end

confirmed = math.max(tonumber(after), tonumber(confirmed))
redis.call('HSET', head, 'k', whole(confirmed))

if owner ~= node then
    queue(owner, 'k', 'o', 'a', after)
end

-- a stream that is over expires after its last event was sent, no matter how
-- often clients look it up
if string.byte(state) < OVER or tonumber(sent) < last then
    last_for(lasts)
end

local answer = {
    'OK', last, tonumber(first), confirmed, state,
    redis.call('GET', spec) or '', tonumber(generation),
    is_posted(input, processed), task
}

if wants == '2' then
    redis.call('SADD', listeners, node)
    redis.call('PEXPIRE', listeners, redis.call('PTTL', head))
end

if wants ~= '' and last >= tonumber(first)
    and not with_events(answer, last, last)
then
    remove_incomplete()
    return {'LATER'}
end

return answer
