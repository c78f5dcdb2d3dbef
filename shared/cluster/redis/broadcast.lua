-- SPDX-License-Identifier: Apache-2.0
--
-- A node tells all others.
--
-- ARGV: node; a time that other scripts want; what is told; its key; the
-- session that it is about; a value; how long it is good, ms; a message, or
-- nothing; of a notification also the name of the process that tells it, and its
-- number there, as one is told again if nobody knows whether it was told.  Returns
-- {"OK"}.
--
-- PREFIX:1:told has what a node that joins must know, as long as it is good;
-- PREFIX:1:heard, what concerns only the moment.  Each entry: n node, p purpose,
-- k key, s session, v value, e when it ends by this server's clock, m message.

local TOLD, HEARD = 262144, 4096
local MINUTE = 60000

local now = clock()
local good = tonumber(ARGV[7])
local lasts = ARGV[3] == 'd' or ARGV[3] == 'l'
local key = prefix .. (lasts and 'told' or 'heard')
local last = ARGV[9] and prefix .. 'i:' .. ARGV[9]

if last and tonumber(redis.call('GET', last) or 0) >= tonumber(ARGV[10]) then
    return {'OK'}
end

-- what is over goes, from the oldest on
for _, entry in ipairs(redis.call('XRANGE', key, '-', '+', 'COUNT', 8)) do
    local fields = entry[2]
    local over = true

    for i = 1, #fields, 2 do
        if fields[i] == 'e' and tonumber(fields[i + 1]) > now then
            over = false
        end
    end

    if not over then
        break
    end

    redis.call('XDEL', key, entry[1])
end

redis.call('XADD', key, 'MAXLEN', '~', lasts and TOLD or HEARD, '*',
    'n', ARGV[1], 'p', ARGV[3], 'k', ARGV[4], 's', ARGV[5], 'v', ARGV[6],
    'e', string.format('%.0f', now + good), 'm', ARGV[8])

local ttl = lasts and math.max(good, MINUTE) or MINUTE

if redis.call('PTTL', key) < ttl then
    redis.call('PEXPIRE', key, ttl)
end

if last then
    redis.call('SET', last, ARGV[10], 'PX', MINUTE)
end

return {'OK'}
