-- SPDX-License-Identifier: Apache-2.0
--
-- Appends events and other changes of a stream, or renews its keys, for the
-- replicator of its owner.
--
-- KEYS[5] to KEYS[10] of the stream
-- KEYS[11] PREFIX:1:o:NODE of this node
-- KEYS[12] PREFIX:1:g:NODE of this node
-- KEYS[13] PREFIX:1:heard
-- KEYS[14] PREFIX:1:s:SESSION
-- KEYS[15] PREFIX:1:a:SESSION
-- KEYS[16] PREFIX:1:q:SESSION
-- KEYS[17] PREFIX:1:j:DIGEST; not used if "digest" is empty
-- PREFIX:1:m:NODE and PREFIX:1:x:NODE of the reader, and of nodes that have
-- joined the stream or listen to it; PREFIX:1:m:NODE of this node
-- PREFIX:1:h:S of the stream that KEYS[17] contains, and of streams of the
-- session; PREFIX:1:j:DIGEST of a stream that is not found by it any more
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] lasts: time to live of the stream's keys, ms
-- ARGV[5] first: number of the first event; without events, that of the next
--         event
-- ARGV[6] kept: number of the first event that the owner keeps
-- ARGV[7] sent_here: number of the last event that was sent to a client at this
--         node; empty: the reader is at another node
-- ARGV[8] confirmed: number of the last confirmed event
-- ARGV[9] state
-- ARGV[10] reader_here: number of the reader
-- ARGV[11] generation of the stream's URLs
-- ARGV[12] task: values of a task; the first one is 0 if the stream is not a
--          task
-- ARGV[13] constants: constant values, to create the stream with the event
--          "first"; empty: Redis has the stream
-- ARGV[14] session
-- ARGV[15] principal, used only with "constants"
-- ARGV[16] new_topics: topics to add, TOPIC bytes each; empty: none
-- ARGV[17] position: of a session's own stream: position of the last broadcast
--          that the owner had received before it read the events; empty:
--          unchanged
-- ARGV[18] limit: maximum number of active calls of the session, 0: no limit;
--          empty: the stream is not a new call of a session
-- ARGV[19] digest by which equal calls join the stream; empty: they cannot
-- ARGV[20] claims: "k": claim the digest, unless another stream has it and was
--          not cancelled; "o": claim it also from a stream that is over and was
--          sent completely; "i": as "o", and also from a stream whose last
--          event is a question that was sent; empty: "constants" claims it if
--          no stream has it
-- ARGV[21] joined_how: "h": the call cannot be joined yet; "1": it has a
--          consumer; "0": it has none; empty: equal calls cannot join it
-- ARGV[22] processed: number of the last client input that the owner has
--          processed
-- ARGV[23] reached: number of the last event that Redis has or has lost
-- ARGV[24] message of the first event
-- ARGV[25] answers of the first event, and so on for each event
--
-- Events that Redis has are ignored.
--
-- Returns one of
--   {"OK", last, where, number, sent, input, queued}
--                      last is the number of the last event; where is 1 if the
--                      reader is at this node, 0 at another node, 2 if there is
--                      none; number is the number of the reader; sent is the
--                      last event that was sent according to Redis, before this
--                      command; input is the number of the last client input;
--                      queued is 1 if the queue of this node may contain that
--                      input, 0 if it does not. The last two are missing if
--                      the command had no effect
--   {"GONE"}           Redis does not have the stream
--   {"GAP", last}      events between "last" and "first" are missing
--   {"FENCED"}         another node owns the stream, or the node was declared
--                      dead and Redis has the stream
--   {"DEAD"}           the node was declared dead, and Redis does not have the
--                      stream
--   {"LIMIT"}          the session has "limit" active calls
--   {"TAKEN", stream}  another stream has the claim and has to be joined
--   {"LATER"}          Redis has lost keys, perhaps the claim of another stream

local owned, given, broadcasts, streams, calls, crowded, claim = unpack(KEYS,
    11, 17)
local lasts, first, kept, sent_here, confirmed, state, reader_here, generation,
    task, constants, session, principal, new_topics, position, limit, digest,
    claims, joined_how, processed, reached = unpack(ARGV, 4, 23)
local EVENTS = 24
local INLINE = 8192
local TOPIC = 16

-- lifetime of a broadcast about a session with many calls, ms
local CROWDED = 600000

local said = redis.call('HMGET', head, 'o', 'l', 'n', 'w', 't', 'x', 'k', 'f',
    'j', 'b', 'u', 'a', 'y', 'e', 'h', 's', 'v', 'r', 'm')

-- create the stream again if an earlier script failed after it had created h:S,
-- or if one of the keys was lost
if said[1] and not said[2] then
    redis.call('DEL', head)
    said = {}
elseif said[1] == node
    and lacks_keys(log, spec, tonumber(said[8]), tonumber(said[2]))
then
    remove_incomplete()
    said = {}
end

-- the values that Redis has, in the order of the fields above
local owner, was_last, was_reader, was_number, was_sent, was_state,
    was_confirmed, was_kept, was_given, notified, was_digest, was_joined, query,
    was_longest, was_processed, input, was_task, report, missing
    = unpack(said, 1, 19)

-- the stream keeps the digest with which it was created, even if requests at
-- its owner's node no longer find the stream by this digest
if was_digest and was_digest ~= digest then
    digest = was_digest
    claim = prefix .. 'j:' .. digest
end

local creates = constants ~= ''
local has_events = #ARGV >= EVENTS
local last, reader, number = tonumber(was_last), was_reader,
    tonumber(was_number)

first = tonumber(first)
limit = tonumber(limit)

if owner and owner ~= node then
    return {'FENCED'}
end

-- a node that was declared dead must not create a stream: no other node would
-- take the stream over
if creates and is_declared_dead() then
    return {owner and 'FENCED' or 'DEAD'}
end

-- the stream was assigned to this node by takeover.lua, and is replicated now
if was_given then
    redis.call('HDEL', head, 'j')
    redis.call('SREM', given, stream)
end

-- Returns true if requests can join a stream that has the claim.
local function is_open(id)
    local other_state, other_sent, other_last = unpack(redis.call('HMGET',
        prefix .. 'h:' .. id, 'x', 't', 'l'))
    local byte = other_state and string.byte(other_state)

    if not byte or byte == CANCELLED then
        return false
    end

    return claims == 'k'
        or byte < OVER and not (claims == 'i' and byte == INPUT_REQUIRED)
        or tonumber(other_sent) < tonumber(other_last)
end

if not owner and claims ~= '' then
    local id = redis.call('GET', claim)

    if id and id ~= stream and is_open(id) then
        return {'TAKEN', id}
    end

    -- another node may run an equal call, and may not have replicated its
    -- stream again yet
    if (not id
            or id ~= stream and redis.call('EXISTS', prefix .. 'h:' .. id) == 0)
        and is_doubtful()
    then
        return {'LATER'}
    end

    redis.call('SET', claim, stream, 'PX', lasts)
end

-- a client may have confirmed and dropped more events at another node
kept = math.max(tonumber(kept), tonumber(was_kept) or 0)

local over = string.byte(state) >= OVER
local is_task = string.sub(task, 1, 2) ~= '0 '

-- If the owner has not processed the last client input for the task, this
-- command must not undo the answers. So the bits of the answered questions and
-- the first byte of the state remain.
if owner and is_task and not has_events and string.byte(state) == INPUT_REQUIRED
    and is_posted(input, processed) == 1
then
    task = with_answers(task, string.match(was_task, '%d+$'))
    state = string.sub(was_state, 1, 1) .. string.sub(state, 2)
end

-- a command from a lost connection, which was sent before the stream was over
-- and has arrived afterwards: no effect
if owner and not over and string.byte(was_state) >= OVER then
    return {'OK', last, 2, number, was_sent}
end

-- Sends a broadcast that the session has at least half of the allowed calls, so
-- that nodes run quota.lua before the next call of this session begins. The
-- broadcast is repeated after half of its lifetime at the earliest.
local function announce_crowded()
    if limit > 0 and 2 * redis.call('SCARD', calls) >= limit
        and redis.call('SET', crowded, '1', 'NX', 'PX', CROWDED / 2)
    then
        announce(broadcasts, '', 'q', session, session, '1', CROWDED)
    end
end

if creates and limit and not owner and is_crowded(calls, limit) then
    announce_crowded()
    return {'LIMIT'}
end

-- A command from a lost connection may also be the one that creates the stream,
-- and arrive when Redis has the stream already. Then the stream keeps its log
-- and its constant values, unless events are missing.
if creates and (not owner or first > last + 1) then
    if not owner and sent_here ~= '' then
        reader, number = node, tonumber(reader_here)
    elseif not owner then
        -- the node of the reader soon reports the reader's number
        -- "reader_here", which has to be higher than the number in Redis
        reader, number = '', tonumber(reader_here) - 1
    end

    if not owner then
        redis.call('HSET', head, 'o', node, 't',
            sent_here ~= '' and sent_here or '0', 'g', session, 'p', principal,
            'd', generation, 's', processed)
        redis.call('PEXPIRE', head, lasts)

        if digest ~= '' then
            redis.call('HSET', head, 'u', digest)
            redis.call('SETNX', claim, stream)
        end
    end

    ensure_member()
    last = first - 1
    redis.call('HSET', head, 'n', reader, 'w', whole(number))
    redis.call('SET', spec, constants, 'PX', lasts)
    redis.call('DEL', log)
elseif not owner then
    return {'GONE'}
elseif first > last + 1 then
    return {'GAP', last}
end

-- A client may have requested an event that Redis does not have, see
-- ends_before(). The owner may have appended that event after it sent this
-- command. So only a second command without events proves that the event does
-- not exist.
if query and not has_events then
    local queried, answered = string.match(query, '^(%d+ %d+)(.*)$')

    if queried and answered ~= ' no' then
        redis.call('HSET', head, 'y',
            queried .. (answered == '' and ' yet' or ' no'))
    end
end

local news = {'k', 'e'}
local size, longest = 0, tonumber(was_longest) or 0

for i = EVENTS, #ARGV, 2 do
    local seq = first + (i - EVENTS) / 2

    if seq > last then
        local added = redis.pcall('XADD', log, whole(seq) .. '-0', 'm', ARGV[i],
            'r', ARGV[i + 1])

        if type(added) == 'table' then
            -- not an error of XADD itself, but of the key's type, or of memory
            if not string.find(added.err, 'XADD') then
                return added
            end

            -- the log has later events than the head, because only one of these
            -- keys was restored
            remove_incomplete()
            return {'GONE'}
        end

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

redis.call('HSET', head, 'l', whole(last), 'f', whole(kept),
    'k', whole(math.max(tonumber(confirmed), tonumber(was_confirmed) or 0)),
    'x', state, 'i', '0', 'z', lasts,
    'v', task, 'h', processed,
    's', whole(math.max(tonumber(input) or 0, tonumber(processed))))

if longest > (tonumber(was_longest) or 0) then
    redis.call('HSET', head, 'e', longest)
end

-- takeover.lua needs to know that lost events are still missing
reached = math.max(tonumber(missing) or 0, tonumber(reached))

if last < reached then
    redis.call('HSET', head, 'm', whole(reached))
elseif missing then
    redis.call('HDEL', head, 'm')
end

local sent = was_sent or '0'

-- a joined request may have been sent more events than the consumer
if reader == node and sent_here ~= ''
    and (digest == '' or tonumber(sent_here) > tonumber(sent))
then
    sent = sent_here
    redis.call('HSET', head, 't', sent)
end

-- the keys get their time to live before SADD, which fails if the key of the
-- topics has a wrong type
if new_topics ~= '' then
    last_for(lasts)

    for i = 1, #new_topics, TOPIC do
        redis.call('SADD', topics, string.sub(new_topics, i, i + TOPIC - 1))
    end

    redis.call('PEXPIRE', topics, lasts)
end

if position ~= '' then
    redis.call('HSET', head, 'q', position)
end

if kept ~= tonumber(was_kept) then
    redis.call('XTRIM', log, 'MINID', whole(kept) .. '-0')
end

if digest ~= '' then
    redis.call('HSET', head, 'a', joined_how)
    redis.call('PEXPIRE', joined, lasts)

    if redis.call('GET', claim) == stream then
        redis.call('PEXPIRE', claim, lasts)
    end
end

-- Renews the keys if the command creates, ends or only renews the stream, or
-- if more than a node timeout of their time to live has passed. A log that XADD
-- has just created has no time to live, so the keys are renewed then as well.
if creates or not has_events or over
    or redis.call('PTTL', log) < lasts - node_timeout
then
    last_for(lasts)

    if creates then
        sweep(streams, 2)
        redis.call('SADD', streams, stream)
    end

    if creates and limit then
        redis.call('SADD', calls, stream)
        announce_crowded()
    end

    if over then
        redis.call('SREM', calls, stream)
    end

    for _, key in ipairs({streams, calls}) do
        if redis.call('PTTL', key) < tonumber(lasts) then
            redis.call('PEXPIRE', key, lasts)
        end
    end
end

if over then
    redis.call('SREM', owned, stream)
elseif creates or not has_events then
    redis.call('SADD', owned, stream)
    redis.call('PEXPIRE', owned, DAY)
end

-- remove a reader whose node was declared dead, or did not report the reader in
-- time
if reader ~= node and reader ~= ''
    and (is_dead(reader) or is_silent(report, number))
then
    reader = ''
    redis.call('HSET', head, 'n', '')
end

local changed = tonumber(was_last) ~= last or was_state ~= state
local is_news = changed or was_processed ~= processed

for _, word in ipairs({'l', whole(last), 'x', state, 'c', confirmed,
    'h', processed}) do
    news[#news + 1] = word
end

if digest ~= '' then
    for _, word in ipairs({'y', joined_how, 't', sent, 'v', task}) do
        news[#news + 1] = word
    end
end

if reader ~= node and reader ~= '' and is_news then
    queue(reader, unpack(news))
end

-- the task has changed: notify the nodes that listen to it
if is_task and (notified ~= task or changed) then
    redis.call('HSET', head, 'b', task)

    for _, to in ipairs(redis.call('SMEMBERS', listeners)) do
        queue(to, 'k', 'n')
    end
end

if digest ~= '' and (is_news or was_joined ~= joined_how or was_sent ~= sent)
then
    -- nodes where requests have joined get the entry, unless it was sent to the
    -- node as the reader's node above
    for _, other in ipairs(redis.call('SMEMBERS', joined)) do
        if is_dead(other) then
            redis.call('SREM', joined, other)
        elseif other ~= reader or not is_news then
            queue(other, unpack(news))
        end
    end
end

local queued = 0

if is_posted(input, processed) == 1
    and (over or redis.call('XLEN', prefix .. 'm:' .. node) > 0)
then
    queued = 1
end

return {'OK', last, reader == node and 1 or reader == '' and 2 or 0, number,
    was_sent or '0', tonumber(input) or 0, queued}
