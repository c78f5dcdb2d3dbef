-- SPDX-License-Identifier: Apache-2.0
--
-- A client asks how all streams of its session stand.
--
-- ARGV: node; time after which silence is death, ms; session; principal.
-- Returns {"OK", {the same as lookup.lua}, ...}, without those that this node
-- owns, or {"LATER"}, as of redis/resume.lua: some may be missing.

local STREAMS = 256

local all = prefix .. 's:' .. ARGV[3]
local answer = {'OK'}

if is_doubtful() then
    return {'LATER'}
end

for _, id in ipairs(redis.call('SRANDMEMBER', all, STREAMS)) do
    local head = prefix .. 'h:' .. id
    local said = redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 'p', 'd',
        's', 't', 'z', 'v', 'h')

    if not said[1] then
        redis.call('SREM', all, id)
    elseif said[1] ~= ARGV[1] and said[6] == ARGV[4] then
        local last = tonumber(said[2])

        -- what is over and was sent goes in its time, however often a client
        -- asks
        if string.byte(said[5]) < OVER or tonumber(said[9]) < last then
            tell(said[1], id, 'k', 'o', 'a', '0')
            keep_stream(id, said[10])
        end

        answer[#answer + 1] = {
            'OK', last, tonumber(said[3]), tonumber(said[4]), said[5],
            redis.call('GET', prefix .. 'c:' .. id) or '', tonumber(said[7]),
            is_posted(said[8], said[12]), said[11]
        }
    end
end

return answer
