-- Notes how a try went; what was forgotten meanwhile stays so.
-- KEYS  deliveries of a webhook, due.  ARGV  webhook, id, delivery, when it is due again ("": never).
local member = ARGV[1] .. ' ' .. ARGV[2]
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 or ARGV[4] == '' then redis.call('ZREM', KEYS[2], member)
else redis.call('ZADD', KEYS[2], ARGV[4], member) end
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then redis.call('HSET', KEYS[1], ARGV[2], ARGV[3]) end
