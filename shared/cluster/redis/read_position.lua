-- SPDX-License-Identifier: Apache-2.0
--
-- Records how far a reader at this node has read a stream, or that it has left.
--
-- KEYS[5] to KEYS[10] of the stream
-- PREFIX:1:m:NODE of the owner
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

local number, sent = ARGV[4], ARGV[5]
local left = ARGV[6] == '1'

local owner, last, confirmed, state, latest, was_sent, processed, reader
    = unpack(redis.call('HMGET', head, 'o', 'l', 'k', 'x', 'w', 't', 'h', 'n'))

if not owner then
    return {'NONE'}
end

latest = tonumber(latest)

if latest > tonumber(number) then
    return {'TAKEN', latest}
end

renew_for_reader(state, sent, last)

-- field n differs if append.lua has removed the reader, because its position
-- was not reported in time
if left or latest < tonumber(number) or tonumber(was_sent) < tonumber(sent)
    or reader ~= node
then
    redis.call('HSET', head, 'n', left and '' or node, 'w', number, 't', sent)
    queue(owner, 'k', left and 'g' or 't', 'w', number, 'a', sent)
end

if not left then
    note_reader(tonumber(number))
end

return {'OK', tonumber(last), tonumber(confirmed), state,
    tonumber(processed) or 0}
