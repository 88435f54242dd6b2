-- Let the version that served before serve again; versions that are gone are passed over.
-- KEYS  models, active-models, pinned-models, models-before, model-changes
-- ARGV  strategy, who, why, most changes remembered
-- Answers an outcome and a version: done and the one that serves now, pinned and the one that is, or none.
local pinned = redis.call('HGET', KEYS[3], ARGV[1])
if pinned then return {'pinned', pinned} end
local before = redis.call('HGET', KEYS[2], ARGV[1]) or ''
local version
repeat
  version = redis.call('LPOP', KEYS[4])
until not version or (version ~= before and redis.call('ZSCORE', KEYS[1], version))
if not version then return {'none', ''} end
redis.call('HSET', KEYS[2], ARGV[1], version)
redis.call('XADD', KEYS[5], 'MAXLEN', ARGV[4], '*', 'strategy', ARGV[1], 'version', version,
  'before', before, 'action', 'rolled_back', 'who', ARGV[2], 'why', ARGV[3])
return {'done', version}
