-- Begin a new era of a namespace, and record what was lost.
-- KEYS  namespace, rollbacks
-- ARGV  identity that it must have, new identity, record, most records kept
-- Answers 1, or 0 if somebody else has begun one meanwhile.
if redis.call('HGET', KEYS[1], 'identity') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'identity', ARGV[2])
redis.call('LPUSH', KEYS[2], ARGV[3])
redis.call('LTRIM', KEYS[2], 0, ARGV[4] - 1)
return 1
