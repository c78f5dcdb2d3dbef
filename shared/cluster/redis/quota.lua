-- SPDX-License-Identifier: Apache-2.0
--
-- A session is to begin a call, and has many already.
--
-- ARGV: node; time after which silence is death, ms; session; how many it may
-- have.  Returns {"OK"}, or {"LIMIT"}: it has as many.

if is_crowded(ARGV[3], tonumber(ARGV[4])) then
    return {'LIMIT'}
end

return {'OK'}
