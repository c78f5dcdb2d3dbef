-- SPDX-License-Identifier: Apache-2.0
--
-- Records how far a reader at this node has read a stream, or that it has left.
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] number of the reader
-- ARGV[5] number of the last event that was sent to the reader
-- ARGV[6] "1": the reader has left; any other value: it reads
--
-- Returns one of
--   {"OK", last, confirmed, state, processed}
--                      numbers of the last event and of the last confirmed
--                      event; processed is the number of the last client input
--                      that the owner has processed
--   {"NONE"}           there is no such stream
--   {"TAKEN", number}  a later reader with this number exists

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

-- field n differs if append.lua has removed the reader, because its position
-- was not reported in time
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
