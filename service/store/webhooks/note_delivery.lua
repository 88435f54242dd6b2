-- Notes how a try went; what was forgotten meanwhile stays so.
-- KEYS  the sender's lease, deliveries of a webhook, due.
-- ARGV  token that the lease must have, webhook, id, delivery, when it is due again ("": never).
-- Answers 0, or -1 if another process has the lease.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local member, is_there = ARGV[2] .. ' ' .. ARGV[3], redis.call('HEXISTS', KEYS[2], ARGV[3]) == 1
if is_there then redis.call('HSET', KEYS[2], ARGV[3], ARGV[4]) end
if is_there and ARGV[5] ~= '' then redis.call('ZADD', KEYS[3], ARGV[5], member)
else redis.call('ZREM', KEYS[3], member) end
return 0
