-- SPDX-License-Identifier: Apache-2.0
--
-- What stands before the scripts of shared streams, behind members.lua.
--
-- Of a stream S there are
--   PREFIX:1:c:S  what never changes, packed by the core
--   PREFIX:1:h:S  o its owner's node, l number of its last event, f of the first
--                 one kept, t of the last one sent, k confirmed, x how it stands
--                 (packed), n its reader's node, or nothing, w the number of that
--                 reader, g its session, p its principal, i see post.lua
--   PREFIX:1:e:S  its events, each under its number: m message, r what it answers
-- and of a node N
--   PREFIX:1:m:N  what it is to hear of streams that it owns, or reads

local MAIL = 16384

local head, log = prefix .. 'h:' .. ARGV[3], prefix .. 'e:' .. ARGV[3]
local spec = prefix .. 'c:' .. ARGV[3]

local function whole(number)
    return string.format('%.0f', number)
end

local function mail(to, ...)
    local key = prefix .. 'm:' .. to

    redis.call('XADD', key, 'MAXLEN', '~', MAIL, '*', 's', ARGV[3], ...)
    redis.call('PEXPIRE', key, 2 * ARGV[2])
end

local function last_for(ms)
    redis.call('PEXPIRE', head, ms)
    redis.call('PEXPIRE', log, ms)
    redis.call('PEXPIRE', spec, ms)
end

-- who reads shows that somebody does
local function is_read()
    if redis.call('PTTL', head) < 2 * ARGV[2] then
        last_for(2 * ARGV[2])
    end
end
