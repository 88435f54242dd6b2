-- Make a model visible once all its parts are there; only then do they stay.
-- KEYS  models, model, namespace, then the chunks
-- ARGV  version, ms of creation, strategy, record, manifest, upload, the store that the caller knows
-- Answers 'published', 'known' if it was there already, or 'lost' if a chunk has expired; OTHERSTORE.
if redis.call('EXISTS', KEYS[2]) == 1 then return 'known' end
if not is_known(KEYS[3], ARGV[7]) then return OTHER_STORE end
for i = 4, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then return 'lost' end
end
for i = 4, #KEYS do redis.call('PERSIST', KEYS[i]) end
redis.call('HSET', KEYS[2], 'strategy', ARGV[3], 'record', ARGV[4], 'manifest', ARGV[5],
  'upload', ARGV[6], 'chunks', #KEYS - 3)
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return 'published'
