-- Let the next promotion replace a version again; it stays active until then.
-- KEYS  pinned-models, model-changes
-- ARGV  strategy, version, who, why, most changes remembered
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('XADD', KEYS[2], 'MAXLEN', ARGV[5], '*', 'strategy', ARGV[1], 'version', ARGV[2],
  'before', ARGV[2], 'action', 'unpinned', 'who', ARGV[3], 'why', ARGV[4])
return 1
