-- Let a version of a strategy serve, if the one that serves is the expected one and no other is pinned.
-- KEYS  model, active-models, pinned-models, models-before, model-changes
-- ARGV  strategy, version, expected version ('' none, '*' any), 'promoted' or 'pinned', who, why,
--       most versions remembered, most changes remembered
-- Answers an outcome and a version: done and the one it replaced ('' for none), changed and the one that
-- serves instead of the expected, pinned and the one that is, or unknown.
if redis.call('HGET', KEYS[1], 'strategy') ~= ARGV[1] then return {'unknown', ARGV[2]} end
local before = redis.call('HGET', KEYS[2], ARGV[1]) or ''
local pinned = redis.call('HGET', KEYS[3], ARGV[1])
if pinned and pinned ~= ARGV[2] then return {'pinned', pinned} end
if ARGV[3] ~= '*' and ARGV[3] ~= before then return {'changed', before} end
local pins = ARGV[4] == 'pinned' and not pinned
if before == ARGV[2] and not pins then return {'done', before} end
if before ~= ARGV[2] then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
  if before ~= '' then
    redis.call('LPUSH', KEYS[4], before)
    redis.call('LTRIM', KEYS[4], 0, ARGV[7] - 1)
  end
end
if pins then redis.call('HSET', KEYS[3], ARGV[1], ARGV[2]) end
redis.call('XADD', KEYS[5], 'MAXLEN', ARGV[8], '*', 'strategy', ARGV[1], 'version', ARGV[2],
  'before', before, 'action', ARGV[4], 'who', ARGV[5], 'why', ARGV[6])
return {'done', before}
