-- SPDX-License-Identifier: Apache-2.0
--
-- Common functions of the scripts. scripts/embed puts this file in front of
-- each script except append_events.lua. The header of a script lists its keys,
-- its arguments and its replies.
--
-- Keys and arguments that all these scripts have:
--   KEYS[1] PREFIX:1:nodes
--   KEYS[2] PREFIX:1:x:NODE of the node that runs the script
--   KEYS[3] PREFIX:1:n:NODE of that node
--   KEYS[4] PREFIX:1:since
--   ARGV[1] id of the node that runs the script
--   ARGV[2] node timeout of this node, ms
--
-- KEYS contains each key whose name follows from the arguments. The core builds
-- these names (mcp_cluster_command.c). A script itself builds the names of only
-- those keys that it finds in the contents of others, because a node cannot
-- know them before:
--   n:NODE          of the members, which KEYS[1] contains
--   x:NODE, m:NODE  of the owner or the reader of a stream, of the nodes that
--                   have joined it or listen to it, of the user of a token
--   h:S and other keys of a stream, which is in a set (s:, a:, o:, g:) or has a
--                   claim (j:)
--   s:, a:, j:      of a stream that its owner has freed, or that is not found
--                   by its digest any more
-- That is safe in Redis Cluster because all keys have the hash slot of KEYS, so
-- they are at the master that runs the script. While the slot moves to another
-- master, some keys may be there already. But then Redis Cluster rejects a
-- script before it begins (TRYAGAIN or ASK) if one of its KEYS does not exist,
-- and KEYS[2] does not exist as long as the node is a member.
--
-- Keys of the members. The form of nodes, n:, x: and layout never changes, so
-- that builds of any release find each other.
--   PREFIX:1:nodes   sorted set of all nodes; the score of a node is the number
--                    of its heartbeats
--   PREFIX:1:n:NODE  the data of a node: at time of its last heartbeat by the
--                    clock of Redis, ms; low and high range of layouts that it
--                    reads; label; build; keys fingerprints of its signing
--                    keys; dead its node timeout, ms; endpoints fingerprints of
--                    its endpoints' identities; cut the last result of
--                    is_any_cut_off() in common_streams.lua
--   PREFIX:1:x:NODE  mark that the node was declared dead; its value is the
--                    node that has declared it dead
--   PREFIX:1:layout  the layout that the members write. It is raised to the
--                    highest layout that all live members read. It is never
--                    lowered, because keys in the higher layout still exist.
--   PREFIX:1:run     run id of the server at which the members have registered
--   PREFIX:1:since   when a member last detected that Redis has lost keys, or
--                    may lack the last writes, ms; 0: never

local nodes, mark, own_data, since = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local node, node_timeout = ARGV[1], tonumber(ARGV[2])

-- prefix of the names that a script builds; time to live of the keys above, ms
local prefix = string.sub(nodes, 1, -6)
local DAY = 86400000

-- Returns the time by the clock of Redis, ms.
local function clock()
    local time = redis.call('TIME')

    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Records that Redis has lost keys. For one node timeout a missing key proves
-- nothing, because live members are still writing their keys again.
local function note_loss()
    redis.call('SET', since, string.format('%.0f', clock()), 'PX', DAY)
end

-- Returns true if the node that runs the script was declared dead.
local function is_declared_dead()
    return redis.call('EXISTS', mark) == 1
end

-- Returns true if another node was declared dead.
local function is_dead(other)
    return redis.call('EXISTS', prefix .. 'x:' .. other) == 1
end

-- Returns true if a missing key proves nothing: if the node was declared dead,
-- or if a loss was detected less than a node timeout ago. The node detects a
-- loss itself if PREFIX:1:since or its own data is missing. The clock of Redis
-- may have been set back since a loss was detected: then the time of the loss
-- is later than now, and becomes now.
local function is_doubtful()
    local lost = tonumber(redis.call('GET', since) or '')

    if is_declared_dead() then
        return true
    end

    if not lost or lost > clock() or redis.call('EXISTS', own_data) == 0 then
        note_loss()
        return true
    end

    return clock() - lost < node_timeout
end

-- Adds the node that runs the script, which owns or reads a stream, to the
-- members, with 0 heartbeats. Has no effect if the node is a member already or
-- was declared dead. Only a member can be declared dead; Redis may have lost
-- this node's registration, and the node may die before it registers again.
local function ensure_member()
    if not is_declared_dead()
        and redis.call('ZADD', nodes, 'NX', 0, node) == 1
    then
        redis.call('PEXPIRE', nodes, DAY)
    end
end
