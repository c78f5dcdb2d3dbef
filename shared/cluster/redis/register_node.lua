-- SPDX-License-Identifier: Apache-2.0
--
-- Adds a node to the members, or rejects it. A member registers on each new
-- connection.
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] lowest layout that the node reads
-- ARGV[4] highest layout that the node reads
-- ARGV[5] build
-- ARGV[6] label
-- ARGV[7] fingerprints of its signing keys, separated by commas
-- ARGV[8] "1" if the process has been a member with this node id; empty: it
--         has not
-- ARGV[9] time by the clock of the node, ms; empty: its zone has been a member
-- ARGV[10] fingerprints of its endpoints' identities, separated by commas
--
-- Returns the values of answer() in common_members.lua, with a fifth element
-- {node, label} if that live node has endpoints, but none in common with this
-- node; or
--   {"DEAD"}                            the node was declared dead
--   {"CLOCK", time}                     the clocks of the node and of Redis
--                                       differ by more than SKEW; time by the
--                                       clock of Redis, ms
--   {"LAYOUT", node, label, low, high}  a live node reads only other layouts
--   {"WRITTEN", layout}                 the node does not read the layout of
--                                       the data in Redis
--   {"KEYS", node, label}               a live node has no signing key in
--                                       common with the node

-- maximum difference between the clocks, ms
local SKEW = 300000

local node, dead_after = ARGV[1], tonumber(ARGV[2])
local low, high = tonumber(ARGV[3]), tonumber(ARGV[4])
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

if redis.call('EXISTS', prefix .. 'x:' .. node) == 1 then
    return {'DEAD'}
end

if ARGV[9] ~= '' and math.abs(now - ARGV[9]) > SKEW then
    return {'CLOCK', now}
end

for _, other in ipairs(members(now)) do
    if other.node ~= node and other.age <= LIVE * dead_after then
        if high < other.low or low > other.high then
            return {'LAYOUT', other.node, other.label, other.low, other.high}
        end

        if not share(ARGV[7], other.keys) then
            return {'KEYS', other.node, other.label}
        end

        if ARGV[10] ~= '' and other.endpoints ~= ''
            and not share(ARGV[10], other.endpoints)
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
-- RUN no node has been a member before, so nothing can be missing.
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
local before = redis.call('GET', RUN)

if run and before and run ~= before
    or ARGV[8] == '1' and redis.call('EXISTS', prefix .. 'n:' .. node) == 0
then
    note_loss()
elseif redis.call('EXISTS', SINCE) == 0 then
    redis.call('SET', SINCE, '0')
end

if run then
    redis.call('SET', RUN, run)
end

-- a registration counts as a heartbeat, so that a node which often loses its
-- connection is not declared dead
redis.call('ZINCRBY', KEYS[1], 1, node)
redis.call('HSET', prefix .. 'n:' .. node, 'low', low, 'high', high,
    'build', ARGV[5], 'label', ARGV[6], 'keys', ARGV[7], 'dead', dead_after,
    'endpoints', ARGV[10])
keep(node, now)

local reply = answer(now, dead_after)

reply[#reply + 1] = apart

return reply
