-- SPDX-License-Identifier: Apache-2.0
--
-- Common functions for the members of a cluster. scripts/embed puts this file
-- in front of each script except append_events.lua. The header of a script lists its
-- arguments and its replies.
--
-- Arguments that all scripts have:
--   KEYS[1] PREFIX:1:nodes
--   ARGV[1] id of the node that runs the script
--   ARGV[2] node timeout of this node, ms
--
-- Keys. All keys have the same hash slot. The form of the first four never
-- changes, so that builds of any release find each other.
--   PREFIX:1:nodes   sorted set of all nodes; the score of a node is the number
--                    of its heartbeats
--   PREFIX:1:n:NODE  the data of a node: at time of its last heartbeat by the
--                    clock of Redis, ms; low and high range of layouts that it
--                    reads; label; build; keys fingerprints of its signing
--                    keys; dead its node timeout, ms; endpoints fingerprints of
--                    its endpoints' identities
--   PREFIX:1:x:NODE  mark that the node was declared dead; its value is the
--                    node that has declared it dead
--   PREFIX:1:layout  the layout that the members write. It is raised to the
--                    highest layout that all live members read. It is never
--                    lowered, because keys in the higher layout still exist.
--   PREFIX:1:run     run id of the server at which the members have registered
--   PREFIX:1:since   when a member last detected that Redis has lost keys, or
--                    may lack the last writes, ms; 0: never

-- prefix of all keys; time to live of the keys above, ms
local prefix = string.sub(KEYS[1], 1, -6)
local DAY = 86400000

-- A node is live if its last heartbeat is at most this number of node timeouts
-- ago. The list of members also contains other nodes, until their streams were
-- taken over.
local LIVE = 4

-- number of heartbeats of a node from which on it may raise the layout: by then
-- KEYS[1] contains all live nodes
local SETTLED = 12

-- maximum number of members in a reply; names of keys; maximum number of nodes
-- that a script reads
local MEMBERS = 32
local SINCE, RUN = prefix .. 'since', prefix .. 'run'
local LOOK = 256

-- Returns the time by the clock of Redis, ms.
local function clock()
    local time = redis.call('TIME')

    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Records a heartbeat of a node, and renews the keys of the members.
local function keep(node, now)
    local key = prefix .. 'n:' .. node

    redis.call('HSET', key, 'at', string.format('%.0f', now))
    redis.call('PEXPIRE', key, DAY)
    redis.call('PEXPIRE', KEYS[1], DAY)
    redis.call('PEXPIRE', SINCE, DAY)
    redis.call('PEXPIRE', RUN, DAY)
end

-- Records that Redis has lost keys. For one node timeout a missing key proves
-- nothing, because live members are still writing their keys again.
local function note_loss()
    redis.call('SET', SINCE, string.format('%.0f', clock()), 'PX', DAY)
end

-- Returns true if a missing key proves nothing: if the node was declared dead,
-- or if a loss was detected less than a node timeout ago. The node detects a
-- loss itself if SINCE or its own data is missing.
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

-- Adds a node that owns or reads a stream to KEYS[1], with 0 heartbeats, unless
-- KEYS[1] contains the node. Only a node in KEYS[1] can be declared dead. Redis
-- may have lost the registration of the node, and the node may die before it
-- registers again.
local function known(node)
    if redis.call('ZADD', KEYS[1], 'NX', 0, node) == 1 then
        redis.call('PEXPIRE', KEYS[1], DAY)
    end
end

-- Returns the nodes with the most heartbeats, and their data.
local function members(now)
    local found = {}

    for _, node in ipairs(redis.call('ZREVRANGE', KEYS[1], 0, LOOK - 1)) do
        local said = redis.call('HMGET', prefix .. 'n:' .. node,
            'at', 'low', 'high', 'label', 'build', 'keys', 'dead',
            'endpoints')

        -- known() has added a node without data: its age is DAY
        found[#found + 1] = {
            node = node, age = said[1] and math.max(now - said[1], 0) or DAY,
            low = tonumber(said[2]), high = tonumber(said[3]),
            label = said[4] or '', build = said[5] or '', keys = said[6],
            dead = tonumber(said[7]) or 0, endpoints = said[8] or ''
        }
    end

    return found
end

-- Returns the layout of the data in Redis, or nil if there is none.
local function written()
    return tonumber(redis.call('GET', prefix .. 'layout') or '')
end

-- Raises the layout if possible. Returns {"OK", time by the clock of Redis in
-- ms, layout, members}. Each member is {node, ms since its last heartbeat,
-- label, build, number of its heartbeats, its node timeout in ms or 0 if
-- unknown}.
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
