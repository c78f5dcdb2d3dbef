-- SPDX-License-Identifier: Apache-2.0
--
-- A token that is good for one call is taken, by one node; or what became of it.
--
-- ARGV: node; time after which silence is death, ms; the token's digest; t to
-- take it, g to give it back unused, s to say which stream its call is, d that
-- its call came to nothing; that stream, a number; how long the token is good,
-- ms.  Returns {"OK"}, {"USED", stream}: another node has it, or the stream is
-- known, which is 0 until then, {"LATER"}, as of redis/resume.lua, or {"FENCED"}:
-- the node was taken for dead.
--
-- PREFIX:1:v:TOKEN has n its node, v the stream, and c how many requests of that
-- node have taken it: its zone says which of them uses it.

local used = prefix .. 'v:' .. ARGV[3]
local node, what = ARGV[1], ARGV[4]

local said = redis.call('HMGET', used, 'n', 'v')
local running = said[2] == '0'
local mine = said[1] == node

if what == 't' then
    -- others would take it as well, from a node that they know to be dead
    if redis.call('EXISTS', prefix .. 'x:' .. node) == 1 then
        return {'FENCED'}
    end

    local dead = running and not mine
        and redis.call('EXISTS', prefix .. 'x:' .. said[1]) == 1

    -- it may have been taken, and Redis have lost that
    if not said[1] and is_doubtful() then
        return {'LATER'}
    end

    if said[1] and not dead and not (running and mine) then
        return {'USED', tonumber(said[2])}
    end

    if dead then
        redis.call('DEL', used)
    end

    redis.call('HSET', used, 'n', node, 'v', '0')
    redis.call('HINCRBY', used, 'c', 1)
    redis.call('PEXPIRE', used, ARGV[6])

elseif what == 's' then
    if not said[1] or mine then
        redis.call('HSET', used, 'n', node, 'v', ARGV[5])
        redis.call('PEXPIRE', used, ARGV[6])
    end

elseif mine and running
    and (what == 'd' or redis.call('HINCRBY', used, 'c', -1) <= 0)
then
    redis.call('DEL', used)
end

return {'OK'}
