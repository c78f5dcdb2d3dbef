-- SPDX-License-Identifier: Apache-2.0
--
-- What stands before the scripts of shared streams, behind members.lua.
--
-- Of a stream S there are
--   PREFIX:1:c:S  what never changes, packed by the core
--   PREFIX:1:h:S  o its owner's node, l number of its last event, f of the first
--                 one kept, t of the last one sent, k confirmed, x how it stands
--                 (packed), n its reader's node, or nothing, w the number of that
--                 reader, g its session, p its principal, i see post.lua,
--                 d its turn, z how long it lasts while nobody reads, ms,
--                 v what it is as a task (packed), q how far its owner had heard
--                 the others, of a session's own stream
--   PREFIX:1:e:S  its events, each under its number: m message, r what it answers
--   PREFIX:1:t:S  a session's own stream: its topics
-- of a session, by its digest
--   PREFIX:1:s:SESSION  its streams, and some that were freed
-- and of a node N
--   PREFIX:1:m:N  what it is to hear of streams that it owns, or reads

local MAIL = 16384

-- the least that how a stream stands begins with when it is over
local OVER = string.byte('2')

local head, log = prefix .. 'h:' .. ARGV[3], prefix .. 'e:' .. ARGV[3]
local spec, topics = prefix .. 'c:' .. ARGV[3], prefix .. 't:' .. ARGV[3]

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
    for _, kind in ipairs({'h:', 'e:', 'c:', 't:'}) do
        redis.call('PEXPIRE', prefix .. kind .. id, ms)
    end
end

local function last_for(ms)
    keep_stream(ARGV[3], ms)
end

-- who reads shows that somebody does
local function is_read()
    if redis.call('PTTL', head) < 2 * ARGV[2] then
        last_for(2 * ARGV[2])
    end
end

-- An event that is not there: the owner may have it, if Redis has lost it; of
-- what is over there is no other.
local function ends_before(stands)
    return string.byte(stands) >= OVER and 'NONE' or 'AHEAD'
end
