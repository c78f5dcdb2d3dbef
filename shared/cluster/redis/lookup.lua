-- SPDX-License-Identifier: Apache-2.0
--
-- A client asks how a stream stands: at a node that is not the owner, or at the
-- owner, which others may have brought answers for.
--
-- ARGV: node; time after which silence is death, ms; stream; number of the last
-- event that it confirms; session that it has to be of, or nothing; principal; 1
-- for the last event, too, 2 if the node is also to hear when that changes.
-- Returns {"OK", last, first one kept, confirmed, how it stands, what never
-- changes, turn, 1 if answers are on their way, or 0, what it is as a task, then,
-- if there is one, the last event and what that answers}, {"NONE"}, {"LATER"}, as
-- of redis/resume.lua, or {"AHEAD"}: there is no such event yet.

local after = tonumber(ARGV[4])

local said = redis.call('HMGET', head, 'o', 'l', 'f', 'k', 'x', 'g', 'p', 'd',
    's', 't', 'z', 'v', 'h')
local last = tonumber(said[2])

if not said[1] and is_doubtful() then
    return {'LATER'}
end

if not said[1] or ARGV[5] ~= '' and said[6] ~= ARGV[5] or said[7] ~= ARGV[6] then
    return {'NONE'}
end

if after > last then
    return {ends_before(said[1], said[5], last, ARGV[4])}
end

local confirmed = math.max(after, tonumber(said[4]))

redis.call('HSET', head, 'k', whole(confirmed))

if said[1] ~= ARGV[1] then
    mail(said[1], 'k', 'o', 'a', ARGV[4])
end

-- what is over and was sent goes in its time, however often a client asks
if string.byte(said[5]) < OVER or tonumber(said[10]) < last then
    last_for(said[11])
end

local answer = {
    'OK', last, tonumber(said[3]), confirmed, said[5],
    redis.call('GET', spec) or '', tonumber(said[8]),
    is_posted(said[9], said[13]), said[12]
}

if ARGV[7] == '2' then
    redis.call('SADD', listeners, ARGV[1])
    redis.call('PEXPIRE', listeners, redis.call('PTTL', head))
end

if ARGV[7] ~= '' then
    for _, entry in ipairs(redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)) do
        answer[#answer + 1] = entry[2][2]
        answer[#answer + 1] = entry[2][4]
    end
end

return answer
