-- SPDX-License-Identifier: Apache-2.0
--
-- What stands before each of the other scripts: the nodes of a cluster.
--
-- KEYS[1] is PREFIX:1:nodes, a sorted set of all nodes by their number of beats;
-- PREFIX:1:n:NODE says who a node is, when it beat last, by this server's clock,
-- and after which silence it is dead; PREFIX:1:x:NODE, that it was declared dead;
-- PREFIX:1:layout, the layout that members write.  It goes up only, to the highest
-- that all of them read, as what was written stays for a while.  All keys have one
-- hash slot, and those named here never change their form.
--
-- PREFIX:1:run is the run id of the server at which the members have said hello.
-- PREFIX:1:since is the time (ms) at which a member detected that Redis had lost
-- keys, or may lack the last writes; 0 if none ever did.

local prefix = string.sub(KEYS[1], 1, -6)
local DAY = 86400000

-- in units of the time after which a node that is silent is dead: who counts.
-- Who does not is told of all the same, until others have taken its streams over.
local LIVE = 4

-- beats after which a member has seen all others that live
local SETTLED = 12

local MEMBERS = 32
local SINCE, RUN = prefix .. 'since', prefix .. 'run'
local LOOK = 256

local function clock()
    local time = redis.call('TIME')

    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- the node has beaten, at most a moment ago
local function keep(node, now)
    local key = prefix .. 'n:' .. node

    redis.call('HSET', key, 'at', string.format('%.0f', now))
    redis.call('PEXPIRE', key, DAY)
    redis.call('PEXPIRE', KEYS[1], DAY)
    redis.call('PEXPIRE', SINCE, DAY)
    redis.call('PEXPIRE', RUN, DAY)
end

-- Notes that Redis has lost keys, so that a key that is missing proves nothing
-- until every member that lives has written its own again.
local function note_loss()
    redis.call('SET', SINCE, string.format('%.0f', clock()), 'PX', DAY)
end

-- Returns whether a key that is missing proves nothing.  A member whose own key
-- is missing, or that finds no SINCE, is the first one to detect the loss.
local function is_doubtful()
    local since = tonumber(redis.call('GET', SINCE) or '')

    if redis.call('EXISTS', prefix .. 'x:' .. ARGV[1]) == 1 then
        return true
    end

    if not since or redis.call('EXISTS', prefix .. 'n:' .. ARGV[1]) == 0 then
        note_loss()
        return true
    end

    return clock() - since < tonumber(ARGV[2])
end

-- A node has something that others are to take over when it is dead.  Redis may
-- have lost it since it said hello, and it may die before it does so again.
local function known(node)
    if redis.call('ZADD', KEYS[1], 'NX', 0, node) == 1 then
        redis.call('PEXPIRE', KEYS[1], DAY)
    end
end

local function members(now)
    local found = {}

    for _, node in ipairs(redis.call('ZREVRANGE', KEYS[1], 0, LOOK - 1)) do
        local said = redis.call('HMGET', prefix .. 'n:' .. node,
            'at', 'low', 'high', 'label', 'build', 'keys', 'dead',
            'endpoints')

        -- of some nothing but their streams is known: see known()
        found[#found + 1] = {
            node = node, age = said[1] and math.max(now - said[1], 0) or DAY,
            low = tonumber(said[2]), high = tonumber(said[3]),
            label = said[4] or '', build = said[5] or '', keys = said[6],
            dead = tonumber(said[7]) or 0, endpoints = said[8] or ''
        }
    end

    return found
end

-- which layout was written here, if any
local function written()
    return tonumber(redis.call('GET', prefix .. 'layout') or '')
end

-- {"OK", time, layout, members}
local function answer(now, dead_after)
    local beats = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]))
    local layout, first, list = nil, nil, {}

    for _, member in ipairs(members(now)) do
        if member.age <= LIVE * dead_after
            and (not layout or member.high < layout)
        then
            layout = member.high
        end

        if member.node == ARGV[1] then
            first = member.low
        end

        if #list < MEMBERS then
            list[#list + 1] = {
                member.node, member.age, member.label, member.build,
                redis.call('ZSCORE', KEYS[1], member.node), member.dead
            }
        end
    end

    local is = written() or first or 0

    if beats >= SETTLED and layout > is then
        is = layout
    end

    redis.call('SET', prefix .. 'layout', is, 'PX', DAY)

    return {'OK', now, is, list}
end
