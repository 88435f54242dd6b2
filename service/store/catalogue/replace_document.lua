-- Replace a document if it still is what the caller read; keep the index of documents in step, tell of items.
-- KEYS  document, index (zset of names), changes (stream of item numbers), namespace,
--       users whose links were written since an erasure began to look for links (there only meanwhile)
-- ARGV  what it was ('' for none), what it becomes ('' for none), its name in the index ('' for no index),
--       its item number ('' for no item), most changes kept, the store that the caller knows,
--       1 if it comes to have links
-- Answers 1 if it was replaced, 0 if it is another by now; OTHERSTORE.
if not is_known(KEYS[4], ARGV[6]) then return OTHER_STORE end
local current = redis.call('GET', KEYS[1]) or ''
if current ~= ARGV[1] then return 0 end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[3])
else
  redis.call('SET', KEYS[1], ARGV[2])
  if ARGV[3] ~= '' then redis.call('ZADD', KEYS[2], 0, ARGV[3]) end
end
if ARGV[7] == '1' and redis.call('EXISTS', KEYS[5]) == 1 then redis.call('HSET', KEYS[5], ARGV[3], '') end
if ARGV[4] ~= '' then
  -- ids without holes, so that followers notice what was trimmed; a new stream begins at the time, beyond any old one
  local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
  local now = redis.call('TIME')
  local version = last and tonumber(string.match(last[1], '^%d+')) or now[1] * 1000000 + now[2]
  local id = string.format('%.0f-0', version + 1)
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], id, 'i', ARGV[4])
end
return 1
