-- SPDX-License-Identifier: Apache-2.0
--
-- Common functions of the scripts that register a node and record its
-- heartbeats. scripts/embed puts this file between common_members.lua and the
-- script.
--
-- Keys, besides those of common_members.lua:
--   KEYS[5] PREFIX:1:run
--   KEYS[6] PREFIX:1:layout
--   PREFIX:1:n:NODE of the other members

local run_key, layout_key = KEYS[5], KEYS[6]

-- A node is live if its last heartbeat is at most this number of node timeouts
-- ago. The list of members also contains other nodes, until their streams were
-- taken over.
local LIVE = 4

-- number of heartbeats of a node from which on it may raise the layout: by then
-- the list of members contains all live nodes
local SETTLED = 12

-- maximum number of members in a reply; maximum number of nodes that a script
-- reads
local MEMBERS = 32
local NODES_READ = 256

-- Records a heartbeat of the node, and renews the keys of the members.
local function keep(now)
    redis.call('HSET', own_data, 'at', string.format('%.0f', now))

    for _, key in ipairs({own_data, nodes, since, run_key}) do
        redis.call('PEXPIRE', key, DAY)
    end
end

-- Returns the nodes with the most heartbeats, and their data.
local function members(now)
    local found = {}

    for _, other in ipairs(redis.call('ZREVRANGE', nodes, 0, NODES_READ - 1)) do
        local at, low, high, label, build, keys, dead, endpoints = unpack(
            redis.call('HMGET', prefix .. 'n:' .. other, 'at', 'low', 'high',
                'label', 'build', 'keys', 'dead', 'endpoints'))

        -- ensure_member() has added a node without data: its age is DAY
        found[#found + 1] = {
            node = other, age = at and math.max(now - at, 0) or DAY,
            low = tonumber(low), high = tonumber(high),
            label = label or '', build = build or '', keys = keys,
            dead = tonumber(dead) or 0, endpoints = endpoints or ''
        }
    end

    return found
end

-- Returns the layout of the data in Redis, or nil if there is none.
local function written()
    return tonumber(redis.call('GET', layout_key) or '')
end

-- Raises the layout if possible. Returns {"OK", time by the clock of Redis in
-- ms, layout, members}. Each member is {node, ms since its last heartbeat,
-- label, build, number of its heartbeats, its node timeout in ms or 0 if
-- unknown}.
local function answer(now)
    local heartbeats = tonumber(redis.call('ZSCORE', nodes, node))
    local layout, first, list = nil, nil, {}

    for _, member in ipairs(members(now)) do
        if member.age <= LIVE * node_timeout
            and (not layout or member.high < layout)
        then
            layout = member.high
        end

        if member.node == node then
            first = member.low
        end

        if #list < MEMBERS then
            list[#list + 1] = {
                member.node, member.age, member.label, member.build,
                redis.call('ZSCORE', nodes, member.node), member.dead
            }
        end
    end

    local is = written() or first or 0

    if heartbeats >= SETTLED and layout > is then
        is = layout
    end

    redis.call('SET', layout_key, is, 'PX', DAY)

    return {'OK', now, is, list}
end
