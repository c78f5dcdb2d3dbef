-- SPDX-License-Identifier: Apache-2.0
--
-- The node of a reader says what was sent, or that it reads no more.
--
-- ARGV: node; time after which silence is death, ms; stream; number of the
-- reader; last event sent; 1 if it has left.  Returns {"OK", last, confirmed,
-- how it stands, number of the last of what clients have brought that its owner is
-- through with}, {"NONE"}, or {"TAKEN", number}: there is a later reader.

local node, number = ARGV[1], tonumber(ARGV[4])
local left = ARGV[6] == '1'

local said = redis.call('HMGET', head, 'o', 'l', 'k', 'x', 'w', 't', 'h', 'n')
local known = tonumber(said[5])

if not said[1] then
    return {'NONE'}
end

if known > number then
    return {'TAKEN', known}
end

is_read(said[4], ARGV[5], said[2])

-- it may have been silent for so long that it counted as gone
if left or known < number or tonumber(said[6]) < tonumber(ARGV[5])
    or said[8] ~= node
then
    redis.call('HSET', head, 'n', left and '' or node, 'w', ARGV[4],
        't', ARGV[5])
    mail(said[1], 'k', left and 'g' or 't', 'w', ARGV[4], 'a', ARGV[5])
end

if not left then
    reads(number)
end

return {'OK', tonumber(said[2]), tonumber(said[3]), said[4],
    tonumber(said[7]) or 0}
