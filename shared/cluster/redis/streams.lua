-- SPDX-License-Identifier: Apache-2.0
--
-- What stands before the scripts of shared streams, behind members.lua.
--
-- Of a stream S there are
--   PREFIX:1:c:S  what never changes, packed by the core
--   PREFIX:1:h:S  o its owner's node, l number of its last event, f of the first
--                 one kept, t of the last one sent, k confirmed, x how it stands
--                 (packed), n its reader's node, or nothing, w the number of that
--                 reader, r that number and until when it counts as there
--                 though it says nothing, g its session, p its principal, i and s see client_input.lua,
--                 h the last of s that its owner is through with, d its turn, z how long it lasts while nobody reads, ms,
--                 v what it is as a task (packed), b the same as its owner said
--                 it last, q how far its owner had heard the others, of a
--                 session's own stream; of a call that others may join u the
--                 digest by which they find it, a as redis/append.lua is told;
--                 y see ends_before(), e bytes of its longest event
--   PREFIX:1:e:S  its events, each under its number: m message, r what it answers
--   PREFIX:1:t:S  a session's own stream: its topics
--   PREFIX:1:b:S  a task: nodes whose clients listen to it
--   PREFIX:1:k:S  nodes where others have joined it
-- of what is asked for, by its digest
--   PREFIX:1:j:DIGEST  the stream that others find by it
-- of a session, by its digest
--   PREFIX:1:s:SESSION  its streams, and some that were freed
--   PREFIX:1:a:SESSION  its calls that go on, and some that were lost
--   PREFIX:1:q:SESSION  nodes were told lately that it has many of these
-- and of a node N
--   PREFIX:1:m:N  what it is to hear of streams that it owns, or reads

local MAIL, HEARD = 16384, 4096
local MINUTE, CROWDED, ASKED = 60000, 600000, 2000
local SWEEP = 64

-- the least that how a stream stands begins with when it is over
local OVER = string.byte('2')
local CANCELLED = string.byte('4')

-- what it begins with while its call asks
local ASKS = string.byte('1')

local head, log = prefix .. 'h:' .. ARGV[3], prefix .. 'e:' .. ARGV[3]
local spec, topics = prefix .. 'c:' .. ARGV[3], prefix .. 't:' .. ARGV[3]
local listeners = prefix .. 'b:' .. ARGV[3]
local joined = prefix .. 'k:' .. ARGV[3]

local function whole(number)
    return string.format('%.0f', number)
end

local function tell(to, id, ...)
    local key = prefix .. 'm:' .. to

    redis.call('XADD', key, 'MAXLEN', '~', MAIL, '*', 's', id, ...)
    redis.call('PEXPIRE', key, 2 * ARGV[2])
end

local function mail(to, ...)
    tell(to, ARGV[3], ...)
end

local function keep_stream(id, ms)
    for _, kind in ipairs({'h:', 'e:', 'c:', 't:', 'b:'}) do
        redis.call('PEXPIRE', prefix .. kind .. id, ms)
    end
end

-- tells all nodes, in the form of broadcast.lua
local function announce(from, purpose, topic, session, value, good)
    local key = prefix .. 'heard'

    redis.call('XADD', key, 'MAXLEN', '~', HEARD, '*', 'n', from,
        'p', purpose, 'k', topic, 's', session, 'v', value,
        'e', whole(clock() + good), 'm', '')

    if redis.call('PTTL', key) < MINUTE then
        redis.call('PEXPIRE', key, MINUTE)
    end
end

-- drops a few of a set of streams that are gone
local function sweep(all, n)
    for _, id in ipairs(redis.call('SRANDMEMBER', all, n)) do
        if redis.call('EXISTS', prefix .. 'h:' .. id) == 0 then
            redis.call('SREM', all, id)
        end
    end
end

-- whether a session has as many calls that go on as it may have
local function is_crowded(session, limit)
    local calls = prefix .. 'a:' .. session

    if limit == 0 or redis.call('SCARD', calls) < limit then
        return false
    end

    sweep(calls, SWEEP)

    return redis.call('SCARD', calls) >= limit
end

-- who has half of what it may have is asked for, before its next call begins
local function tell_crowded(session, limit)
    if limit > 0 and 2 * redis.call('SCARD', prefix .. 'a:' .. session) >= limit
        and redis.call('SET', prefix .. 'q:' .. session, '1', 'NX', 'PX',
            CROWDED / 2)
    then
        announce('', 'q', session, session, '1', CROWDED)
    end
end

-- 1 if clients have brought what its owner is not through with, or 0
local function is_posted(brought, taken)
    return (tonumber(brought) or 0) > (tonumber(taken) or 0) and 1 or 0
end

-- what a stream is as a task, with bits of questions that have their answers
local function with_answers(task, bits)
    local times, given = string.match(task, '^(.* )(%d+)$')

    return times .. whole(bit.bor(given, bits) % 4294967296)
end

local function last_for(ms)
    keep_stream(ARGV[3], ms)
end

-- who reads shows that somebody does; but what is over and was sent goes in its
-- time, however often it is read
local function is_read(stands, sent, last)
    if string.byte(stands) >= OVER and tonumber(sent) >= tonumber(last) then
        return
    end

    if redis.call('PTTL', head) < 2 * ARGV[2] then
        last_for(2 * ARGV[2])
    end
end

-- a node that reads elsewhere says so three times in the time after which its
-- silence is death
local function reads(number)
    redis.call('HSET', head, 'r', whole(number) .. ' '
        .. whole(clock() + 2 * ARGV[2]))
end

-- whether who reads has gone without a word
local function is_silent(stamp, number)
    local of, ends = string.match(stamp or '', '^(%d+) (%d+)$')

    return tonumber(of) == number and tonumber(ends) < clock()
end

-- An event that is not there.  Of what is over there is no other; of what goes on
-- the owner may have it, if Redis has lost it.  So it is asked, and writes " yet"
-- behind the number and the time when it has nothing to add, and " no" when it has
-- nothing once more: then there never was such an event, nor one that would follow
-- it.  That holds for a while: it may give one later.
local function ends_before(owner, stands, last, after)
    if string.byte(stands) >= OVER then
        return 'NONE'
    end

    local asked, time, heard = string.match(redis.call('HGET', head, 'y') or '',
        '^(%d+) (%d+)(.*)$')
    local now = clock()

    asked = tonumber(asked)

    if not asked or asked <= last or asked > tonumber(after)
        or now - time > ASKED
    then
        redis.call('HSET', head, 'y', after .. ' ' .. whole(now))
        mail(owner, 'k', 'q')
    elseif heard == ' no' then
        redis.call('HDEL', head, 'y')
        return 'NONE'
    end

    return 'AHEAD'
end
