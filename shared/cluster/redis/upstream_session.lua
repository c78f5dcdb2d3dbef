-- SPDX-License-Identifier: Apache-2.0
--
-- Reads or changes a session at an MCP server, which all nodes use for the
-- requests of one caller.
--
-- KEYS[5] PREFIX:1:u:CALLER
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] digest of the caller and the MCP server
-- ARGV[4] "g": get the session; "t": get and delete it; "p": put a session,
--         unless there is one; "d": delete the session ARGV[5], unless there is
--         another one
-- ARGV[5] for "p" and "d": text of the session; otherwise ignored
-- ARGV[6] for "g" and "p": time after which an unused session is deleted, ms
--
-- Returns one of
--   {"OK", text}    for "g" and "t": the session
--   {"NONE"}        for "g" and "t": there is none
--   {"OK"}          for "p" and "d"
--   {"USED", text}  for "p": there is another session
--
-- Key:
--   PREFIX:1:u:CALLER  the text of the session
--
-- If Redis has lost the key, another session is opened.

local key = KEYS[5]
local what, text, lasts = unpack(ARGV, 4, 6)
local stored = redis.call('GET', key)

if what == 'g' or what == 't' then
    if not stored then
        return {'NONE'}
    end

    if what == 't' then
        redis.call('DEL', key)
    else
        redis.call('PEXPIRE', key, lasts)
    end

    return {'OK', stored}
end

if what == 'd' then
    if stored == text then
        redis.call('DEL', key)
    end

    return {'OK'}
end

if stored and stored ~= text then
    return {'USED', stored}
end

redis.call('SET', key, text, 'PX', lasts)

return {'OK'}
