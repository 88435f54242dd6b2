-- Write a stream anew: of removed entries a server keeps the bytes, until those beside them are gone too.
-- KEYS  stream.  ARGV  the first id that stays; '' for all, and then only if entries were ever removed.
if redis.call('EXISTS', KEYS[1]) == 0 then return end
if ARGV[1] == '' then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    -- servers before version 7 do not say it
    if info[i] == 'max-deleted-entry-id' and info[i + 1] == '0-0' then return end
  end
end
local entries = redis.call('XRANGE', KEYS[1], ARGV[1] == '' and '-' or ARGV[1], '+')
redis.call('DEL', KEYS[1])
for _, entry in ipairs(entries) do redis.call('XADD', KEYS[1], entry[1], unpack(entry[2])) end
