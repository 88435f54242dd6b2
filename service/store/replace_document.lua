-- Replace a document if it still is what the caller read; keep the index of documents in step.
-- KEYS  document, index (zset of names)
-- ARGV  what it was ('' for none), what it becomes ('' for none), its name in the index ('' for no index)
-- Answers 1 if it was replaced, 0 if it is another by now.
local current = redis.call('GET', KEYS[1]) or ''
if current ~= ARGV[1] then return 0 end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[3])
else
  redis.call('SET', KEYS[1], ARGV[2])
  if ARGV[3] ~= '' then redis.call('ZADD', KEYS[2], 0, ARGV[3]) end
end
return 1
