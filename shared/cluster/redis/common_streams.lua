-- SPDX-License-Identifier: Apache-2.0
--
-- Common functions of the scripts for streams. scripts/embed puts this file
-- between common_members.lua and the script. KEYS[5] to KEYS[10] and ARGV[3],
-- the id of the stream, are as described below, except in scripts for a session
-- (session_streams.lua, quota.lua) or for many streams (keep.lua). These use no
-- function that concerns one stream.
--
-- Keys of a stream S:
--   KEYS[5]   PREFIX:1:h:S  a hash with the fields below
--   KEYS[6]   PREFIX:1:e:S  its events, each with its number as the entry id: m
--                           message, r its answers (mcp_codec_encode_answers())
--   KEYS[7]   PREFIX:1:c:S  its constant values (mcp_codec_encode_spec())
--   KEYS[8]   PREFIX:1:t:S  the topics of a session's own stream
--   KEYS[9]   PREFIX:1:b:S  of a task: the nodes whose clients listen to the
--                           task
--   KEYS[10]  PREFIX:1:k:S  the nodes where requests have joined the call
--
-- Fields of PREFIX:1:h:S. Their names have one letter, because Redis has such a
-- hash for each stream: 19 fields take 272 bytes of memory, and 432 with words.
--   o  node of the owner
--   l  number of the last event
--   f  number of the first event that is kept
--   t  number of the last event that was sent to a client
--   k  number of the last event that a client has confirmed
--   x  state (mcp_codec_encode_state())
--   n  node of the reader; empty: there is no reader
--   w  number of the last reader
--   r  number of a reader at another node than the owner's, and the time until
--      which it counts as present without another report, ms
--   g  session
--   p  principal
--   i  bytes of client input since the owner last appended (append.lua or
--      append_events.lua)
--   s  number of the last client input
--   h  number of the last client input that the owner has processed
--   d  generation of the stream's URLs
--   z  time to live of the keys as of the last append.lua, ms
--   v  values of a task (mcp_codec_encode_task())
--   b  values of a task when its listeners were last notified
--   q  of a session's own stream: position of the last broadcast that its owner
--      has received
--   j  exists while the stream is in g:NODE, see takeover.lua
--   u  of a call that requests may join: the digest of the request
--   a  of such a call: "joined_how" of append.lua
--   y  a query for an event that Redis does not have, see ends_before()
--   e  size of the longest event, bytes
--   m  exists while the owner writes lost events again: number of the last event
--      that clients may have received
--
-- Keys of a request, by its digest:
--   PREFIX:1:j:DIGEST  the stream that equal calls join
--
-- Keys of a session, by its digest:
--   PREFIX:1:s:SESSION  its streams, and some that were freed
--   PREFIX:1:a:SESSION  its active calls, and some that were lost
--   PREFIX:1:q:SESSION  exists after a broadcast that the session has at least
--                       half of the allowed calls
--
-- Key of a node N:
--   PREFIX:1:m:N  the node queue: entries about streams that the node owns,
--                 reads, has joined or listens to; field s is the stream, k the
--                 kind of entry (mcp_node_queue_e in mcp_cluster_node_queue.c)

-- maximum number of entries of a node queue
local QUEUE_MAX = 16384

-- maximum number of entries of the Redis stream of announce(), and its time to
-- live, which is also the lifetime of a broadcast about a topic, ms
local BROADCASTS_MAX, MINUTE = 4096, 60000

-- lifetime of the result of a query in ends_before(), ms
local QUERY_LASTS = 2000

-- number of calls that is_crowded() checks
local SWEEP = 64

-- The first byte of a state is a digit of mcp_stream_state_e. The stream is
-- over if the digit is at least OVER, which is MCP_STATE_COMPLETED.
local OVER = string.byte('2')
local CANCELLED = string.byte('4')

-- the digit of MCP_STATE_INPUT_REQUIRED
local INPUT_REQUIRED = string.byte('1')

local stream = ARGV[3]
local head, log, spec, topics, listeners, joined = unpack(KEYS, 5, 10)

-- Returns a number as decimal text without an exponent.
local function whole(number)
    return string.format('%.0f', number)
end

-- Removes a stream of which keys or events were lost, so that its owner, if it
-- is alive, creates the stream again.
local function remove_incomplete()
    redis.call('DEL', head, log, spec)
    note_loss()
end

-- Returns true if one of the keys e:S and c:S of a stream was lost. first and
-- last are the numbers of its first kept event and of its last one.
local function lacks_keys(its_log, its_spec, first, last)
    return redis.call('EXISTS', its_spec) == 0
        or last >= first and redis.call('EXISTS', its_log) == 0
end

-- Appends message and answers of each event of the stream to a reply, from the
-- event "from" to the event "last": at most EVENTS events and BYTES bytes, or
-- one longer event. Returns the reply, or nil if the stream lacks one of these
-- events.
local function with_events(reply, from, last)
    local BYTES, EVENTS, READ = 262144, 256, 16
    local size, fixed = 0, #reply
    local seq, ends = from, math.min(last, from + EVENTS - 1)

    while seq <= ends do
        -- few at a time, because they may be long
        local entries = redis.call('XRANGE', log, whole(seq) .. '-0', '+',
            'COUNT', READ)

        for _, entry in ipairs(entries) do
            size = size + #entry[2][2]

            if entry[1] ~= whole(seq) .. '-0' then
                return nil
            elseif seq > ends or size > BYTES and #reply > fixed then
                return reply
            end

            reply[#reply + 1] = entry[2][2]
            reply[#reply + 1] = entry[2][4]
            seq = seq + 1
        end

        if #entries == 0 then
            return nil
        end
    end

    return reply
end

-- Appends an entry about the stream id to the queue of the node "to".
local function queue_about(to, id, ...)
    local key = prefix .. 'm:' .. to

    redis.call('XADD', key, 'MAXLEN', '~', QUEUE_MAX, '*', 's', id, ...)
    redis.call('PEXPIRE', key, 2 * node_timeout)
end

-- Appends an entry about this script's stream to the queue of the node "to".
local function queue(to, ...)
    queue_about(to, stream, ...)
end

-- Sets the time to live of keys, ms.
local function expire(keys, ms)
    for _, key in ipairs(keys) do
        redis.call('PEXPIRE', key, ms)
    end
end

-- Sends a broadcast to all nodes, with the fields that broadcast.lua describes.
-- broadcasts is PREFIX:1:heard; good is the lifetime of the broadcast, ms.
local function announce(broadcasts, from, purpose, topic, session, value, good)
    redis.call('XADD', broadcasts, 'MAXLEN', '~', BROADCASTS_MAX, '*',
        'n', from, 'p', purpose, 'k', topic, 's', session, 'v', value,
        'e', whole(clock() + good), 'm', '')

    if redis.call('PTTL', broadcasts) < MINUTE then
        redis.call('PEXPIRE', broadcasts, MINUTE)
    end
end

-- Checks n random streams of a set, and removes from the set those that do not
-- exist.
local function sweep(all, n)
    for _, id in ipairs(redis.call('SRANDMEMBER', all, n)) do
        if redis.call('EXISTS', prefix .. 'h:' .. id) == 0 then
            redis.call('SREM', all, id)
        end
    end
end

-- Returns true if a session has at least limit active calls, which are in the
-- set "calls". limit 0 means that there is no limit.
local function is_crowded(calls, limit)
    if limit == 0 or redis.call('SCARD', calls) < limit then
        return false
    end

    sweep(calls, SWEEP)

    return redis.call('SCARD', calls) >= limit
end

-- Returns true if a member may be cut off from Redis: it has missed two
-- heartbeats, because its last one is more than LATE node timeouts ago, but it
-- was not declared dead. Otherwise returns false, and the time (ms) when the
-- member may be cut off, or nil if that cannot happen. LIVE node timeouts after
-- the last heartbeat, a member no longer counts as cut off, because some
-- members are never declared dead: those after the first MEMBERS.
local function is_cut_off(other, now)
    local LATE, LIVE = 0.75, 4
    local at, dead = unpack(redis.call('HMGET', prefix .. 'n:' .. other, 'at',
        'dead'))

    if not at or not dead or now > at + LIVE * dead then
        return false
    end

    if now > at + LATE * dead then
        return not is_dead(other)
    end

    return false, at + LATE * dead
end

-- Returns true if another member may be cut off from Redis. The result of a
-- check is kept in the field "cut" of n:NODE of the node that runs the script,
-- so that the keys of the members are not read for each unknown stream. The
-- field is the id of a member that was cut off, or two times (ms): that of the
-- check, and the time before which no member can be cut off. The second time is
-- at most CHECK ms later, because a member that registers meanwhile can be cut
-- off after three quarters of the shortest node timeout, 1 s.
local function is_any_cut_off()
    local MEMBERS, CHECK = 32, 750
    local now = clock()
    local cut = redis.call('HGET', own_data, 'cut') or ''
    local read, valid_until = string.match(cut, '^(%d+) (%d+)$')

    if read then
        if tonumber(read) <= now and now < tonumber(valid_until) then
            return false
        end
    elseif cut ~= '' and is_cut_off(cut, now) then
        return true
    end

    valid_until = now + CHECK

    for _, other in ipairs(redis.call('ZREVRANGE', nodes, 0, MEMBERS - 1)) do
        local is, from = false, nil

        if other ~= node then
            is, from = is_cut_off(other, now)
        end

        if is then
            redis.call('HSET', own_data, 'cut', other)
            return true
        end

        valid_until = math.min(valid_until, from or valid_until)
    end

    redis.call('HSET', own_data, 'cut', whole(now) .. ' '
        .. whole(math.floor(valid_until)))

    return false
end

-- Returns true if a stream that Redis does not have may exist at another node:
-- Redis may have lost it, or its owner may be cut off. "young" is "1" if the
-- stream was created less than a node timeout ago: then its owner may be cut
-- off although its last heartbeat is recent.
local function may_exist(young)
    return is_doubtful() or young == '1' or is_any_cut_off()
end

-- Returns 1 if there is client input that the owner has not processed,
-- otherwise 0. brought and taken are the fields s and h.
local function is_posted(brought, taken)
    return (tonumber(brought) or 0) > (tonumber(taken) or 0) and 1 or 0
end

-- Adds the bits of answered questions to the last of a task's values, which has
-- the bits of all answered questions. Returns the values.
local function with_answers(task, bits)
    local times, given = string.match(task, '^(.* )(%d+)$')

    return times .. whole(bit.bor(given, bits) % 4294967296)
end

-- Sets the time to live of the keys of the stream, ms.
local function last_for(ms)
    expire({head, log, spec, topics, listeners}, ms)
end

-- Extends the time to live of the stream's keys to at least two node timeouts,
-- because a client reads the stream. Does nothing if the stream is over and its
-- last event was sent: such a stream expires, no matter how often it is read.
local function renew_for_reader(state, sent, last)
    if string.byte(state) >= OVER and tonumber(sent) >= tonumber(last) then
        return
    end

    if redis.call('PTTL', head) < 2 * node_timeout then
        last_for(2 * node_timeout)
    end
end

-- Records that a reader is present for the next two node timeouts. The node of
-- the reader runs read_position.lua at least three times in a node timeout.
local function note_reader(number)
    redis.call('HSET', head, 'r', whole(number) .. ' '
        .. whole(clock() + 2 * node_timeout))
end

-- Returns true if the reader with this number has not called note_reader() in
-- time. stamp is the field r.
local function is_silent(stamp, number)
    local of, ends = string.match(stamp or '', '^(%d+) (%d+)$')

    return tonumber(of) == number and tonumber(ends) < clock()
end

-- Handles the number of an event that Redis does not have. A stream that is
-- over has no further events. The owner of an active stream may have the event
-- if Redis has lost it, so the owner is queried by its node queue. Field y
-- contains the number of the event and the time of the query, ms. The first
-- append.lua without events after the query adds " yet" to the field, and the
-- second one replaces " yet" with " no": then neither the event nor a later one
-- exists. The result is used once, and at most two seconds after the query,
-- because the owner may append the event later.
--
-- Returns "NONE" if the stream does not have the event, or "AHEAD" if the owner
-- has not answered yet, so that the node has to repeat its command.
local function ends_before(owner, state, last, after)
    if string.byte(state) >= OVER then
        return 'NONE'
    end

    local queried, time, answered = string.match(
        redis.call('HGET', head, 'y') or '', '^(%d+) (%d+)(.*)$')
    local now = clock()

    queried = tonumber(queried)

    if not queried or queried <= last or queried > tonumber(after)
        or now - time > QUERY_LASTS
    then
        redis.call('HSET', head, 'y', after .. ' ' .. whole(now))
        queue(owner, 'k', 'q')
    elseif answered == ' no' then
        redis.call('HDEL', head, 'y')
        return 'NONE'
    end

    return 'AHEAD'
end
