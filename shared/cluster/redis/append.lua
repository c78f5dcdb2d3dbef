-- SPDX-License-Identifier: Apache-2.0
--
-- The owner copies events, or says that its stream goes on.
--
-- ARGV: node; time after which silence is death, ms; stream; how long it lasts,
-- ms; number of the first event that follows; first one kept; last one sent, or
-- nothing if its reader is elsewhere; confirmed; how it stands; number of its
-- reader; its turn; what it is as a task; then nothing, or to begin it with that
-- event: what never changes, session, principal; topics to add, one after the
-- other, how far the owner had heard the others before it looked for events, or
-- nothing; how many calls its session may have if it is a new one, 0 for any
-- number, or nothing if it is no call of a session; of a call that others may
-- join the digest by which they find it, "k" to be found by it from now on unless
-- another one is, "o" the same but for one that is over and was sent, or nothing,
-- and "h" while nobody may join it yet, 1 if it has a consumer, or 0; number of the
-- last of what clients have brought that it is through with; for each event its
-- message and what it answers.
-- What is there already is passed over.  Returns {"OK", last, 1 if the reader is
-- here, 0 if elsewhere, 2 if there is none, its number, sent}, {"GONE"}, {"GAP",
-- last}, {"FENCED"}, {"DEAD"}: the node was taken for dead, and Redis does not have
-- the stream, {"LIMIT"}: its session has too many, {"TAKEN", stream}: that one is
-- to be joined, or {"LATER"}: Redis has lost keys, and whether there is another one
-- is not known.

local owned = prefix .. 'o:' .. ARGV[1]
local node, lasts, first = ARGV[1], ARGV[4], tonumber(ARGV[5])
local EVENTS = 23
local INLINE = 8192
local TOPIC = 16

local said = redis.call('HMGET', head, 'o', 'l', 'n', 'w', 't', 'x', 'k',
    'f', 'g', 'j', 'b', 'u', 'a', 'y', 'e', 'h', 's', 'v', 'r')

-- what was begun by halves, as Redis did not do the rest, is begun anew
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

-- nobody looks any more after what a node begins that was taken for dead
if ARGV[13] ~= '' and redis.call('EXISTS', prefix .. 'x:' .. node) == 1 then
    return {said[1] and 'FENCED' or 'DEAD'}
end

-- it was given to this node, which knows it now
if said[10] then
    redis.call('HDEL', head, 'j')
    redis.call('SREM', prefix .. 'g:' .. node, ARGV[3])
end

-- Whether it can be joined.
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

    -- another node may be running that call, and not have written it again
    if not id and is_doubtful() then
        return {'LATER'}
    end

    redis.call('SET', found, ARGV[3], 'PX', lasts)
end

-- a client may have dropped more, elsewhere
local floor = math.max(tonumber(ARGV[6]), tonumber(said[8]) or 0)

local stand, task = ARGV[9], ARGV[12]
local over = string.byte(stand) >= OVER

-- answers to what a task asks that its owner does not know yet
if said[1] and string.sub(task, 1, 2) ~= '0 ' and #ARGV < EVENTS
    and string.byte(stand) == ASKS and is_posted(said[17], ARGV[22]) == 1
then
    task = with_answers(task, string.match(said[18], '%d+$'))
    stand = string.sub(said[6], 1, 1) .. string.sub(stand, 2)
end

-- it was sent before the stream was over, on a connection that was lost since
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

-- what begins it may come late as well
if ARGV[13] ~= '' and (not said[1] or first > last + 1) then
    if not said[1] and ARGV[7] ~= '' then
        reader, number = node, tonumber(ARGV[10])
    elseif not said[1] then
        -- who reads elsewhere says so soon, and has a higher number
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

-- Somebody has asked for an event that is not there.  The owner may have given it
-- while this was on its way, but not if it has nothing to add the next time either.
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

-- who has joined may have got more
if reader == node and ARGV[7] ~= ''
    and (digest == '' or tonumber(ARGV[7]) > tonumber(sent))
then
    sent = ARGV[7]
    redis.call('HSET', head, 't', sent)
end

-- nothing stays without a time if that key is somebody else's
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

-- while its owner says more, some of the time that it has in reserve may pass;
-- the first event makes a key
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

-- who read there does no more
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

-- a task has changed
if string.sub(task, 1, 2) ~= '0 ' and (said[11] ~= task
    or tonumber(said[2]) ~= last or said[6] ~= stand)
then
    redis.call('HSET', head, 'b', task)

    for _, to in ipairs(redis.call('SMEMBERS', listeners)) do
        tell(to, ARGV[3], 'k', 'n')
    end
end

if digest ~= '' and (stands or said[13] ~= ARGV[21] or said[5] ~= sent) then
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
