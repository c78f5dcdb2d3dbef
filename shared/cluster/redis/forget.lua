-- SPDX-License-Identifier: Apache-2.0
--
-- Removes a stream that its owner has freed, and notifies the nodes that read
-- it or have joined it. Has no effect on a stream of another owner.
--
-- KEYS[5] to KEYS[10] of the stream; KEYS[11] PREFIX:1:o:NODE of this node
-- PREFIX:1:m:NODE of the reader and of nodes that have joined the stream
-- PREFIX:1:s:SESSION and PREFIX:1:a:SESSION of its session
-- PREFIX:1:j:DIGEST of its digest
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] stream
-- ARGV[4] "1": keep the stream if it is over; empty: remove it in any state
--
-- Returns {"OK"}.

local owned = KEYS[11]
local keeps = ARGV[4] == '1'
local owner, reader, session, digest, state = unpack(redis.call('HMGET', head,
    'o', 'n', 'g', 'u', 'x'))

if owner == node and not (keeps and string.byte(state) >= OVER) then
    if reader ~= '' and reader ~= node then
        queue(reader, 'k', 'f')
    end

    for _, other in ipairs(redis.call('SMEMBERS', joined)) do
        queue(other, 'k', 'f')
    end

    local claim = digest and prefix .. 'j:' .. digest

    if claim and redis.call('GET', claim) == stream then
        redis.call('DEL', claim)
    end

    redis.call('DEL', head, log, spec, topics, listeners, joined)
    redis.call('SREM', prefix .. 's:' .. session, stream)
    redis.call('SREM', prefix .. 'a:' .. session, stream)
    redis.call('SREM', owned, stream)
end

return {'OK'}
