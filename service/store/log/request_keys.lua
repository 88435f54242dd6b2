-- Which row came first under a request's key. KEYS[1] the hash of buckets.
-- ARGV: bucket, tag of the key (5 bytes), its producer (1 byte), the row that comes first now (10 bytes),
--       most keys of a bucket
-- Returns the row that came first then.
local bucket, most = redis.call('HGET', KEYS[1], ARGV[1]) or '', tonumber(ARGV[5])
for at = 1, #bucket, 16 do
  if string.sub(bucket, at, at + 4) == ARGV[2] then return string.sub(bucket, at + 6, at + 15) end
end
bucket = bucket .. ARGV[2] .. ARGV[3] .. ARGV[4]
if #bucket > 16 * most then
  -- a full bucket forgets the oldest key of the producer that has the most
  local held, oldest, longest = {}, {}, nil
  for at = 1, #bucket, 16 do
    local who = string.sub(bucket, at + 5, at + 5)
    held[who], oldest[who] = (held[who] or 0) + 1, oldest[who] or at
    if not longest or held[who] > held[longest] then longest = who end
  end
  local at = oldest[longest]
  bucket = string.sub(bucket, 1, at - 1) .. string.sub(bucket, at + 16)
end
redis.call('HSET', KEYS[1], ARGV[1], bucket)
return ARGV[4]
