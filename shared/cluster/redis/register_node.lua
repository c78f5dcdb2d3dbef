-- SPDX-License-Identifier: Apache-2.0
--
-- Adds a node to the members, or rejects it. A member registers on each new
-- connection.
--
-- KEYS as in common_registration.lua
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] lowest layout that the node reads
-- ARGV[4] highest layout that the node reads
-- ARGV[5] build
-- ARGV[6] label
-- ARGV[7] fingerprints of its signing keys, separated by commas
-- ARGV[8] "1" if the process has been a member with this node id; "2": Redis
--         may lack keys, because the process has been a member at another
--         server, which may still accept writes, or because the slot of the
--         keys was being moved; empty: neither
-- ARGV[9] time by the clock of the node, ms; empty: its zone has been a member
-- ARGV[10] fingerprints of its endpoints' identities, separated by commas
-- ARGV[11] "1": another node has rejected the process, so that former members
--          register first if Redis was emptied; missing: otherwise
--
-- Returns the values of answer() in common_registration.lua with two more
-- elements, or one of the arrays below. The fifth element is {node, label} if
-- that live node has endpoints, but none in common with this node; otherwise
-- it is empty. The sixth one is the run id of the server, or empty if the
-- script may not read it.
--   {"DEAD"}                            the node was declared dead
--   {"CLOCK", time}                     the clocks of the node and of Redis
--                                       differ by more than SKEW; time by the
--                                       clock of Redis, ms
--   {"LAYOUT", node, label, low, high}  a live node reads only other layouts
--   {"WRITTEN", layout}                 the node does not read the layout of
--                                       the data in Redis
--   {"KEYS", node, label}               a live node has no signing key in
--                                       common with the node
--   {"EMPTY"}                           ARGV[11] is "1", and Redis has no run
--                                       id of a server: the process has to wait

-- maximum difference between the clocks, ms
local SKEW = 300000

local low, high = tonumber(ARGV[3]), tonumber(ARGV[4])
local build, label, keys, was_member, node_time, endpoints, waits = unpack(ARGV,
    5, 11)
local now = clock()
local apart

-- Returns true if two lists of fingerprints have one in common.
local function share(mine, theirs)
    for key in string.gmatch(mine, '%x+') do
        if string.find(',' .. theirs .. ',', ',' .. key .. ',', 1, true) then
            return true
        end
    end

    return false
end

if is_declared_dead() then
    return {'DEAD'}
end

if node_time ~= '' and math.abs(now - node_time) > SKEW then
    return {'CLOCK', now}
end

for _, other in ipairs(members(now)) do
    if other.node ~= node and other.age <= LIVE * node_timeout then
        if high < other.low or low > other.high then
            return {'LAYOUT', other.node, other.label, other.low, other.high}
        end

        if not share(keys, other.keys) then
            return {'KEYS', other.node, other.label}
        end

        if endpoints ~= '' and other.endpoints ~= ''
            and not share(endpoints, other.endpoints)
        then
            apart = {other.node, other.label}
        end
    end
end

local layout = written()

if layout and (layout < low or layout > high) then
    return {'WRITTEN', layout}
end

-- After a restart or a failover the server may lack its last writes. Without
-- run_key no node has been a member before, so nothing can be missing.
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
local before = redis.call('GET', run_key)

if waits and not before then
    return {'EMPTY'}
end

if run and before and run ~= before
    or was_member ~= '' and redis.call('EXISTS', own_data) == 0
    or was_member == '2'
then
    note_loss()
elseif redis.call('EXISTS', since) == 0 then
    redis.call('SET', since, '0')
end

if run then
    redis.call('SET', run_key, run)
end

-- a registration counts as a heartbeat, so that a node which often loses its
-- connection is not declared dead
redis.call('ZINCRBY', nodes, 1, node)
redis.call('HSET', own_data, 'low', low, 'high', high, 'build', build,
    'label', label, 'keys', keys, 'dead', node_timeout, 'endpoints', endpoints)
keep(now)

local reply = answer(now)

reply[#reply + 1] = apart or ''
reply[#reply + 1] = run or ''

return reply
