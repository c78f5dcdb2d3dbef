-- SPDX-License-Identifier: Apache-2.0
--
-- Appends events and other changes of a stream, or renews its keys, for the
-- replicator of its owner.
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] time to live of the stream's keys, ms
-- ARGV[5] number of the event ARGV[23]; without events, that of the next event
-- ARGV[6] number of the first event that the owner keeps
-- ARGV[7] number of the last event that was sent to a client at this node;
--         empty: the reader is at another node
-- ARGV[8] number of the last confirmed event
-- ARGV[9] state
-- ARGV[10] number of the reader
-- ARGV[11] generation of the stream's URLs
-- ARGV[12] values of a task; the first one is 0 if the stream is not a task
-- ARGV[13] constant values, to create the stream with the event ARGV[5]; empty:
--          Redis has the stream
-- ARGV[14] session, used only with ARGV[13]
-- ARGV[15] principal, used only with ARGV[13]
-- ARGV[16] topics to add, TOPIC bytes each; empty: none
-- ARGV[17] of a session's own stream: position of the last broadcast that the
--          owner had received before it read the events; empty: unchanged
-- ARGV[18] maximum number of active calls of the session, 0: no limit; empty:
--          the stream is not a new call of a session
-- ARGV[19] digest by which equal calls join the stream; empty: they cannot, or
--          Redis has the digest
-- ARGV[20] "k": claim the digest, unless another stream has it and was not
--          cancelled; "o": claim it also from a stream that is over and was
--          sent completely; empty: ARGV[13] claims it if no stream has it
-- ARGV[21] "h": the call cannot be joined yet; "1": it has a consumer; "0": it
--          has none; empty: equal calls cannot join it
-- ARGV[22] number of the last client input that the owner has processed
-- ARGV[23] message of the first event
-- ARGV[24] answers of the first event, and so on for each event
--
-- Events that Redis has are ignored.
--
-- Returns one of
--   {"OK", last, where, number, sent}
--                      last is the number of the last event; where is 1 if the
--                      reader is at this node, 0 at another node, 2 if there is
--                      none; number is the number of the reader; sent is the
--                      last event that was sent according to Redis, before this
--                      command
--   {"GONE"}           Redis does not have the stream
--   {"GAP", last}      events between last and ARGV[5] are missing
--   {"FENCED"}         another node owns the stream, or the node was declared
--                      dead and Redis has the stream
--   {"DEAD"}           the node was declared dead, and Redis does not have the
--                      stream
--   {"LIMIT"}          the session has ARGV[18] active calls
--   {"TAKEN", stream}  another stream has the claim and has to be joined
--   {"LATER"}          Redis has lost keys, perhaps the claim of another stream

local owned = prefix .. 'o:' .. ARGV[1]
local node, lasts, first = ARGV[1], ARGV[4], tonumber(ARGV[5])
local EVENTS = 23
local INLINE = 8192
local TOPIC = 16

local said = redis.call('HMGET', head, 'o', 'l', 'n', 'w', 't', 'x', 'k',
    'f', 'g', 'j', 'b', 'u', 'a', 'y', 'e', 'h', 's', 'v', 'r')

-- an earlier script failed after it had created h:S: create the stream again
if said[1] and not said[2] then
    redis.call('DEL', head)
    said = {}
end

local digest = said[12] or ARGV[19]
local found = prefix .. 'j:' .. digest
local last, reader, number = tonumber(said[2]), said[3], tonumber(said[4])

if said[1] and said[1] ~= node then
    return {'FENCED'}
end

-- the node was declared dead: no other node takes over a stream that it creates
-- from now on
if ARGV[13] ~= '' and redis.call('EXISTS', prefix .. 'x:' .. node) == 1 then
    return {said[1] and 'FENCED' or 'DEAD'}
end

-- the stream was assigned to this node by takeover.lua, and is replicated now
if said[10] then
    redis.call('HDEL', head, 'j')
    redis.call('SREM', prefix .. 'g:' .. node, ARGV[3])
end

-- Returns true if requests can join a stream that has the claim.
local function is_open(id)
    local other = redis.call('HMGET', prefix .. 'h:' .. id, 'x', 't', 'l')
    local state = other[1] and string.byte(other[1])

    if not state or state == CANCELLED then
        return false
    end

    return ARGV[20] == 'k' or state < OVER
        or tonumber(other[2]) < tonumber(other[3])
end

if not said[1] and ARGV[20] ~= '' then
    local id = redis.call('GET', found)

    if id and id ~= ARGV[3] and is_open(id) then
        return {'TAKEN', id}
    end

    -- another node may run an equal call, and may not have replicated its
    -- stream again yet
    if not id and is_doubtful() then
        return {'LATER'}
    end

    redis.call('SET', found, ARGV[3], 'PX', lasts)
end

-- a client may have confirmed and dropped more events at another node
local floor = math.max(tonumber(ARGV[6]), tonumber(said[8]) or 0)

local stand, task = ARGV[9], ARGV[12]
local over = string.byte(stand) >= OVER

-- If the owner has not processed the last client input for the task, this
-- command must not undo the answers. So the bits of the answered questions and
-- the first byte of the state remain.
if said[1] and string.sub(task, 1, 2) ~= '0 ' and #ARGV < EVENTS
    and string.byte(stand) == ASKS and is_posted(said[17], ARGV[22]) == 1
then
    task = with_answers(task, string.match(said[18], '%d+$'))
    stand = string.sub(said[6], 1, 1) .. string.sub(stand, 2)
end

-- a command from a lost connection, which was sent before the stream was over
-- and has arrived afterwards: no effect
if said[1] and not over and string.byte(said[6]) >= OVER then
    return {'OK', last, 2, number, said[5]}
end

local limit = tonumber(ARGV[18])

if ARGV[13] ~= '' and limit and not said[1]
    and is_crowded(ARGV[14], limit)
then
    tell_crowded(ARGV[14], limit)
    return {'LIMIT'}
end

-- A command from a lost connection may also be the one that creates the stream,
-- and arrive when Redis has the stream already. Then the stream keeps its log
-- and its constant values, unless events are missing.
if ARGV[13] ~= '' and (not said[1] or first > last + 1) then
    if not said[1] and ARGV[7] ~= '' then
        reader, number = node, tonumber(ARGV[10])
    elseif not said[1] then
        -- the node of the reader soon reports the reader's number ARGV[10],
        -- which has to be higher than the number in Redis
        reader, number = '', tonumber(ARGV[10]) - 1
    end

    if not said[1] then
        redis.call('HSET', head, 'o', node, 't',
            ARGV[7] ~= '' and ARGV[7] or '0', 'g', ARGV[14], 'p', ARGV[15],
            'd', ARGV[11], 's', ARGV[22])
        redis.call('PEXPIRE', head, lasts)

        if digest ~= '' then
            redis.call('HSET', head, 'u', digest)
            redis.call('SETNX', found, ARGV[3])
        end
    end

    known(node)
    last = first - 1
    redis.call('HSET', head, 'n', reader, 'w', whole(number))
    redis.call('SET', spec, ARGV[13], 'PX', lasts)
    redis.call('DEL', log)
elseif not said[1] then
    return {'GONE'}
elseif first > last + 1 then
    return {'GAP', last}
end

-- A client may have requested an event that Redis does not have, see
-- ends_before(). The owner may have appended that event after it sent this
-- command. So only a second command without events proves that the event does
-- not exist.
if said[14] and #ARGV < EVENTS then
    local asked, heard = string.match(said[14], '^(%d+ %d+)(.*)$')

    if asked and heard ~= ' no' then
        redis.call('HSET', head, 'y',
            asked .. (heard == '' and ' yet' or ' no'))
    end
end

local news = {'k', 'e'}
local size, longest = 0, tonumber(said[15]) or 0

for i = EVENTS, #ARGV, 2 do
    local seq = first + (i - EVENTS) / 2

    if seq > last then
        redis.call('XADD', log, whole(seq) .. '-0', 'm', ARGV[i], 'r',
            ARGV[i + 1])
        last = seq
        size = size + #ARGV[i]
        longest = math.max(longest, #ARGV[i])

        if size <= INLINE then
            news[#news + 1] = 'q'
            news[#news + 1] = whole(seq)
            news[#news + 1] = 'm'
            news[#news + 1] = ARGV[i]
            news[#news + 1] = 'r'
            news[#news + 1] = ARGV[i + 1]
        end
    end
end

redis.call('HSET', head, 'l', whole(last), 'f', whole(floor),
    'k', whole(math.max(tonumber(ARGV[8]), tonumber(said[7]) or 0)),
    'x', stand, 'i', '0', 'z', lasts,
    'v', task, 'h', ARGV[22],
    's', whole(math.max(tonumber(said[17]) or 0, tonumber(ARGV[22]))))

if longest > (tonumber(said[15]) or 0) then
    redis.call('HSET', head, 'e', longest)
end

local sent = said[5] or '0'

-- a joined request may have been sent more events than the consumer
if reader == node and ARGV[7] ~= ''
    and (digest == '' or tonumber(ARGV[7]) > tonumber(sent))
then
    sent = ARGV[7]
    redis.call('HSET', head, 't', sent)
end

-- the keys get their time to live before SADD, which fails if the key of the
-- topics has a wrong type
if ARGV[16] ~= '' then
    last_for(lasts)

    for i = 1, #ARGV[16], TOPIC do
        redis.call('SADD', topics, string.sub(ARGV[16], i, i + TOPIC - 1))
    end

    redis.call('PEXPIRE', topics, lasts)
end

if ARGV[17] ~= '' then
    redis.call('HSET', head, 'q', ARGV[17])
end

if floor ~= tonumber(said[8]) then
    redis.call('XTRIM', log, 'MINID', whole(floor) .. '-0')
end

if digest ~= '' then
    redis.call('HSET', head, 'a', ARGV[21])
    redis.call('PEXPIRE', joined, lasts)

    if redis.call('GET', found) == ARGV[3] then
        redis.call('PEXPIRE', found, lasts)
    end
end

-- Renews the keys if the command creates, ends or only renews the stream, or
-- if more than a node timeout of their time to live has passed. A log that XADD
-- has just created has no time to live, so the keys are renewed then as well.
if ARGV[13] ~= '' or #ARGV < EVENTS or over
    or redis.call('PTTL', log) < lasts - ARGV[2]
then
    last_for(lasts)

    local all = prefix .. 's:' .. (said[9] or ARGV[14])
    local calls = prefix .. 'a:' .. (said[9] or ARGV[14])

    if ARGV[13] ~= '' then
        sweep(all, 2)
        redis.call('SADD', all, ARGV[3])
    end

    if ARGV[13] ~= '' and limit then
        redis.call('SADD', calls, ARGV[3])
        tell_crowded(ARGV[14], limit)
    end

    if over then
        redis.call('SREM', calls, ARGV[3])
    end

    for _, key in ipairs({all, calls}) do
        if redis.call('PTTL', key) < tonumber(lasts) then
            redis.call('PEXPIRE', key, lasts)
        end
    end
end

if over then
    redis.call('SREM', owned, ARGV[3])
elseif ARGV[13] ~= '' or #ARGV < EVENTS then
    redis.call('SADD', owned, ARGV[3])
    redis.call('PEXPIRE', owned, DAY)
end

-- remove a reader whose node was declared dead, or did not report the reader in
-- time
if reader ~= node and reader ~= ''
    and (redis.call('EXISTS', prefix .. 'x:' .. reader) == 1
        or is_silent(said[19], number))
then
    reader = ''
    redis.call('HSET', head, 'n', '')
end

local stands = tonumber(said[2]) ~= last or said[6] ~= stand
    or said[16] ~= ARGV[22]

for _, word in ipairs({'l', whole(last), 'x', stand, 'c', ARGV[8],
    'h', ARGV[22]}) do
    news[#news + 1] = word
end

if digest ~= '' then
    for _, word in ipairs({'y', ARGV[21], 't', sent, 'v', task}) do
        news[#news + 1] = word
    end
end

if reader ~= node and reader ~= '' and stands then
    mail(reader, unpack(news))
end

-- the task has changed: notify the nodes that listen to it
if string.sub(task, 1, 2) ~= '0 ' and (said[11] ~= task
    or tonumber(said[2]) ~= last or said[6] ~= stand)
then
    redis.call('HSET', head, 'b', task)

    for _, to in ipairs(redis.call('SMEMBERS', listeners)) do
        tell(to, ARGV[3], 'k', 'n')
    end
end

if digest ~= '' and (stands or said[13] ~= ARGV[21] or said[5] ~= sent) then
    -- nodes where requests have joined get the entry, unless it was sent to the
    -- node as the reader's node above
    for _, other in ipairs(redis.call('SMEMBERS', joined)) do
        if redis.call('EXISTS', prefix .. 'x:' .. other) == 1 then
            redis.call('SREM', joined, other)
        elseif other ~= reader or not stands then
            mail(other, unpack(news))
        end
    end
end

return {'OK', last, reader == node and 1 or reader == '' and 2 or 0, number,
    said[5] or '0'}
