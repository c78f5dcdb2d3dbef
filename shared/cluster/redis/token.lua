-- SPDX-License-Identifier: Apache-2.0
--
-- Records the use of a resume token that is valid for one call.
--
-- KEYS[5] PREFIX:1:v:TOKEN
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] digest of the token
-- ARGV[4] "t": use the token; "g": release it unused; "s": set the stream of
--         its call; "d": its call has failed
-- ARGV[5] for "s": a number by which the stream is found; for "d": the number
--         of "s" for the failed call, or 0 before "s"; otherwise ignored
-- ARGV[6] time for which the token is valid, ms
--
-- Returns one of
--   {"OK"}            for "t": the node may use the token
--   {"USED", number}  the token was used, or another node is using it; number
--                     is ARGV[5] of "s" for its call, or 0 before "s"
--   {"LATER"}         Redis has lost keys, perhaps that of the token
--   {"FENCED"}        the node was declared dead
--
-- Key:
--   PREFIX:1:v:TOKEN  a used token: n the node that has used it; v the number
--                     of its stream, 0 if not known yet; c the number of
--                     requests of this node that use it, of which the zone of
--                     the node admits one

local used = KEYS[5]
local what, number, lasts = unpack(ARGV, 4, 6)

local user, value = unpack(redis.call('HMGET', used, 'n', 'v'))
local running = value == '0'
local mine = user == node

if what == 't' then
    -- this node was declared dead, so that other nodes would accept the token
    -- as well
    if is_declared_dead() then
        return {'FENCED'}
    end

    local dead = running and not mine and is_dead(user)

    -- Redis may have lost the use of the token
    if not user and is_doubtful() then
        return {'LATER'}
    end

    if user and not dead and not (running and mine) then
        return {'USED', tonumber(value)}
    end

    if dead then
        redis.call('DEL', used)
    end

    redis.call('HSET', used, 'n', node, 'v', '0')
    redis.call('HINCRBY', used, 'c', 1)
    redis.call('PEXPIRE', used, lasts)

elseif what == 's' then
    if not user or mine then
        redis.call('HSET', used, 'n', node, 'v', number)
        redis.call('PEXPIRE', used, lasts)
    end

elseif what == 'd' then
    -- a late "d" does not end a later use of the token
    if mine and value == number then
        redis.call('DEL', used)
    end

elseif mine and running and redis.call('HINCRBY', used, 'c', -1) <= 0 then
    redis.call('DEL', used)
end

return {'OK'}
