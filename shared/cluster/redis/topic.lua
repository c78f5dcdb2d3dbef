-- SPDX-License-Identifier: Apache-2.0
--
-- A session subscribes its own stream to a topic, or unsubscribes it, at any
-- node.
--
-- ARGV: node; time after which silence is death, ms; stream; session that it has
-- to be of; topic; 1, or 0 to unsubscribe.  Returns {"OK"}: its owner hears of it
-- before all that is told from now on; or {"NONE"}.

local MINUTE = 60000
local HEARD = 4096

local key = prefix .. 'heard'
local said = redis.call('HMGET', head, 'o', 'g')

if not said[1] or said[2] ~= ARGV[4] then
    return {'NONE'}
end

redis.call(ARGV[6] == '1' and 'SADD' or 'SREM', topics, ARGV[5])
redis.call('PEXPIRE', topics, redis.call('PTTL', head))

-- in the form of tell.lua
if said[1] ~= ARGV[1] then
    redis.call('XADD', key, 'MAXLEN', '~', HEARD, '*', 'n', ARGV[1],
        'p', 's', 'k', ARGV[5], 's', ARGV[4], 'v', ARGV[6],
        'e', string.format('%.0f', clock() + MINUTE), 'm', '')

    if redis.call('PTTL', key) < MINUTE then
        redis.call('PEXPIRE', key, MINUTE)
    end
end

return {'OK'}
