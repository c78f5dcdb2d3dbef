-- SPDX-License-Identifier: Apache-2.0
--
-- Checks whether a session may begin another call.
--
-- KEYS[5] PREFIX:1:a:SESSION
-- PREFIX:1:h:S of streams in KEYS[5]
--
-- ARGV[1] node
-- ARGV[2] node timeout, ms
-- ARGV[3] session
-- ARGV[4] maximum number of its active calls; 0: no limit
--
-- Returns one of
--   {"OK"}     the session may begin another call
--   {"LIMIT"}  the session has ARGV[4] active calls

if is_crowded(KEYS[5], tonumber(ARGV[4])) then
    return {'LIMIT'}
end

return {'OK'}
