-- SPDX-License-Identifier: Apache-2.0
--
-- Returns the state of the streams of a session and principal that other nodes
-- own, and restarts the time for which they are kept without a reader.
--
-- KEYS[5] PREFIX:1:s:SESSION
-- PREFIX:1:h:S and other keys of the streams in KEYS[5]; PREFIX:1:m:NODE of
-- their owners
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] session
-- ARGV[4] principal
--
-- Returns one of
--   {"OK", stream, ...}  each stream is a reply of lookup.lua without an event
--   {"LATER"}            Redis has lost keys, perhaps those of some streams

-- maximum number of streams that are examined, chosen at random
local STREAMS = 256

local all = KEYS[5]
local principal = ARGV[4]
local answer = {'OK'}

if is_doubtful() then
    return {'LATER'}
end

for _, id in ipairs(redis.call('SRANDMEMBER', all, STREAMS)) do
    local keys = {}

    for i, kind in ipairs({'h:', 'e:', 'c:', 't:', 'b:'}) do
        keys[i] = prefix .. kind .. id
    end

    local owner, last, first, confirmed, state, its_principal, generation,
        input, sent, lasts, task, processed = unpack(redis.call('HMGET',
            keys[1], 'o', 'l', 'f', 'k', 'x', 'p', 'd', 's', 't', 'z', 'v',
            'h'))

    if not owner then
        redis.call('SREM', all, id)
    elseif owner ~= node
        and lacks_keys(keys[2], keys[3], tonumber(first), tonumber(last))
    then
        -- the owner, if it is alive, creates the stream again
        redis.call('DEL', keys[1], keys[2], keys[3])
        note_loss()
        return {'LATER'}
    elseif owner ~= node and its_principal == principal then
        -- a stream that is over expires after its last event was sent, no
        -- matter how often clients look it up
        if string.byte(state) < OVER or tonumber(sent) < tonumber(last) then
            queue_about(owner, id, 'k', 'o', 'a', '0')
            expire(keys, lasts)
        end

        answer[#answer + 1] = {
            'OK', tonumber(last), tonumber(first), tonumber(confirmed), state,
            redis.call('GET', keys[3]) or '', tonumber(generation),
            is_posted(input, processed), task
        }
    end
end

return answer
