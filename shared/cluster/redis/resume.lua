-- SPDX-License-Identifier: Apache-2.0
--
-- Makes a client at this node the reader of a stream, and returns the missing
-- events; or only returns events, for a feeding process.
--
-- KEYS[5] to KEYS[10] of the stream
-- PREFIX:1:n:NODE and PREFIX:1:x:NODE of the members
-- PREFIX:1:m:NODE of the owner and of the earlier reader
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] number of the last event that the client or the mirror has; empty:
--         that of the last event that was sent, for a session's own stream
-- ARGV[5] session that the stream must have; empty: any
-- ARGV[6] principal that the stream must have; empty: only return events, and
--         ignore ARGV[5] and all arguments after ARGV[6]
-- ARGV[7] minimum generation from now on; empty: unchanged, and no maximum
-- ARGV[8] maximum generation: a stream above it is not found
-- ARGV[9] "1": drop the events up to ARGV[4]; empty: keep them
-- ARGV[10] "1": the stream itself is at this node; empty: it is not
--
-- Returns one of
--   {"OK", number, own, last, first, confirmed, state, constant values, from,
--    generation, input, processed, longest, message, answers, ...}
--     number     number of the reader
--     own        1 if the stream itself is at this node, or the node is taking
--                it over; otherwise 0
--     last       number of the last event
--     first      number of the first event that Redis keeps
--     confirmed  number of the last event that was confirmed before
--     from       number of the first returned event
--     input      number of the last client input
--     processed  number of the last client input that the owner has processed
--     longest    size of the longest event, bytes
--     message, answers   of each returned event, see with_events(); none if a
--                client resumes and own is 1
--   {"NONE"}   there is no such stream, or it does not have the event ARGV[4]
--   {"LATER"}  Redis may have lost the stream, its owner may be cut off, or the
--              node is taking over a session's own stream
--   {"AHEAD"}  the event ARGV[4] does not exist yet: the node has to repeat the
--              command

local has, session, principal, minimum, maximum, drops, is_here = unpack(ARGV,
    4, 10)
local owner, last, first, was_confirmed, state, reader, number, its_session,
    its_principal, sent, generation, input, longest, processed = unpack(
        redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 'n', 'w', 'g', 'p',
            't', 'd', 's', 'e', 'h'))
local claims = principal ~= ''

-- "has" is empty for a session's own stream. The node creates a missing one
-- again; if the old stream still exists at its owner, the owner ends it.
if not owner and claims and has ~= '' and may_exist() then
    return {'LATER'}
end

if not owner
    or claims and (session ~= '' and its_session ~= session
                   or its_principal ~= principal)
    or claims and minimum ~= '' and tonumber(generation) > tonumber(maximum)
then
    return {'NONE'}
end

last, first, number = tonumber(last), tonumber(first), tonumber(number)
was_confirmed, generation = tonumber(was_confirmed), tonumber(generation)

-- a stream that is over may have been freed at its owner's node, which then
-- needs a mirror like other nodes
local own = owner == node
    and (is_here == '1' or string.byte(state) < OVER)

-- Redis may have lost events that were sent: they count as not sent
local after = tonumber(has) or math.min(tonumber(sent), last)

if after > last then
    return {ends_before(owner, state, last, has)}
end

local confirmed = math.max(tonumber(has) or 0, was_confirmed)

local incomplete = {claims and has ~= '' and 'LATER' or 'NONE'}

if lacks_keys(log, spec, first, last) then
    remove_incomplete()
    return incomplete
end

-- A session's own stream that this node owns, but does not have. Either the
-- node is taking it over from a dead node, or the command by which the node
-- removed the stream was lost: the node creates the stream again, which must
-- not continue the old one, and does not have its topics.
if claims and has == '' and own and is_here ~= '1' then
    if redis.call('HEXISTS', head, 'j') == 1 then
        return {'LATER'}
    end

    redis.call('DEL', head, log, spec, topics)
    return {'NONE'}
end

renew_for_reader(state, after, last)

if claims then
    ensure_member()
    number = number + 1

    if owner ~= node then
        queue(owner, 'k', 'w', 'w', whole(number), 'a', whole(after), 'c',
            whole(confirmed), 'f', drops)
    end

    if reader ~= '' and reader ~= node and reader ~= owner then
        queue(reader, 'k', 'd', 'w', whole(number))
    end

    if minimum ~= '' then
        generation = math.max(generation, tonumber(minimum))
    end

    if drops == '1' then
        first = math.max(first, after + 1)
        redis.call('XTRIM', log, 'MINID', whole(first) .. '-0')
    end

    redis.call('HSET', head, 'n', node, 'w', whole(number), 't', whole(after),
        'k', whole(confirmed), 'f', whole(first), 'd',
        whole(generation))

    if owner ~= node then
        note_reader(number)
    end
end

local from = math.max(after + 1, first)
local answer = {
    'OK', number, own and 1 or 0, last, first, was_confirmed, state,
    redis.call('GET', spec) or '', from, generation, tonumber(input) or 0,
    tonumber(processed) or 0, tonumber(longest) or 0
}

-- The owner's node has the events. If the node is still taking over the stream
-- from a dead node, its mirror fetches them.
if claims and own then
    return answer
end

if not with_events(answer, from, last) then
    remove_incomplete()
    return incomplete
end

return answer
