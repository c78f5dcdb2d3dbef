-- SPDX-License-Identifier: Apache-2.0
--
-- A node joins, or is refused; a member may say hello again.
--
-- ARGV: node; time after which silence is death, ms; lowest and highest layout
-- that it reads; build; label; fingerprints of its signing keys, with commas; 1 if
-- it has been a member under this id; its time, ms, or nothing if it has been a
-- member since its zone began; digests of its endpoints' identities, with commas.
-- Returns what answer() does, with a fifth element {node, label} if that node has
-- endpoints, but none of this node's; {"DEAD"}, {"CLOCK", time}: the node's clock and this
-- server's differ by more than SKEW, {"LAYOUT", node, label, low, high},
-- {"WRITTEN", layout}, which it does not read, or {"KEYS", node, label}.

local SKEW = 300000

local node, dead_after = ARGV[1], tonumber(ARGV[2])
local low, high = tonumber(ARGV[3]), tonumber(ARGV[4])
local now = clock()
local apart

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

-- A server that replaces another one, or was restarted, may lack its last writes.
-- Where nobody was a member before, nothing is missing.
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

-- who says hello lives, however often it loses its connection
redis.call('ZINCRBY', KEYS[1], 1, node)
redis.call('HSET', prefix .. 'n:' .. node, 'low', low, 'high', high,
    'build', ARGV[5], 'label', ARGV[6], 'keys', ARGV[7], 'dead', dead_after,
    'endpoints', ARGV[10])
keep(node, now)

local reply = answer(now, dead_after)

reply[#reply + 1] = apart

return reply
