-- Remove a model unless it serves, is pinned, or is the one that a roll-back would bring back.
-- KEYS  models, model, active-models, pinned-models, models-before, then the chunks
-- ARGV  version, strategy
-- Answers 1 if it was removed.
if redis.call('HGET', KEYS[3], ARGV[2]) == ARGV[1] then return 0 end
if redis.call('HGET', KEYS[4], ARGV[2]) == ARGV[1] then return 0 end
for _, before in ipairs(redis.call('LRANGE', KEYS[5], 0, -1)) do
  if before == ARGV[1] then return 0 end
  if redis.call('ZSCORE', KEYS[1], before) then break end
end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2])
for i = 6, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1
