-- Which row came first under a request's key. KEYS[1] the hash of buckets.
-- ARGV: bucket, tag of the key (6 bytes), the row that comes first now (10 bytes), most keys of a bucket.
-- Returns the row that came first then; a full bucket forgets its oldest key.
local bucket = redis.call('HGET', KEYS[1], ARGV[1]) or ''
for at = 1, #bucket, 16 do
  if string.sub(bucket, at, at + 5) == ARGV[2] then return string.sub(bucket, at + 6, at + 15) end
end
redis.call('HSET', KEYS[1], ARGV[1], string.sub(bucket .. ARGV[2] .. ARGV[3], -16 * tonumber(ARGV[4])))
return ARGV[3]
