-- SPDX-License-Identifier: Apache-2.0
--
-- A client answers what a call has asked, at a node that is not the owner.
--
-- ARGV: node; time after which silence is death, ms; stream; session that it has
-- to be of; the answers.  Returns {"OK"}, {"NONE"}: there is none, or it is
-- over; or {"FULL"}.
--
-- i of the stream counts the bytes since its owner spoke last.

local INBOX = 1048576
local OVER = string.byte('2')

local said = redis.call('HMGET', head, 'o', 'g', 'x', 'i')

if not said[1] or said[2] ~= ARGV[4] or string.byte(said[3]) >= OVER then
    return {'NONE'}
end

if (tonumber(said[4]) or 0) + #ARGV[5] > INBOX then
    return {'FULL'}
end

redis.call('HINCRBY', head, 'i', #ARGV[5])
mail(said[1], 'k', 'p', 'm', ARGV[5])

return {'OK'}
