-- Queues deliveries, and notes how far what happens was looked at, in one step: so each is queued once.
-- KEYS  the sender's lease, seen, due, then the deliveries of each webhook.
-- ARGV  token that the lease must have ("": whoever), what to note as seen ("": nothing), most deliveries of a
--       webhook, seconds to keep them, then for each: index of its key, webhook, id, delivery, when it is due.
-- Answers how many had to make room before they had ended, or -1 if another process has the lease.
if ARGV[1] ~= '' and redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
if ARGV[2] ~= '' then redis.call('SET', KEYS[2], ARGV[2]) end
local webhooks = {}
for i = 5, #ARGV, 5 do
  local index = tonumber(ARGV[i])
  webhooks[index] = ARGV[i + 1]
  redis.call('HSET', KEYS[index], ARGV[i + 2], ARGV[i + 3])
  redis.call('ZADD', KEYS[3], ARGV[i + 4], ARGV[i + 1] .. ' ' .. ARGV[i + 2])
end
local unsent = 0
for i = 4, #KEYS do
  redis.call('EXPIRE', KEYS[i], ARGV[4])
  if redis.call('HLEN', KEYS[i]) > tonumber(ARGV[3]) then
    local ids = redis.call('HKEYS', KEYS[i])
    table.sort(ids)
    for n = 1, #ids - ARGV[3] do
      redis.call('HDEL', KEYS[i], ids[n])
      unsent = unsent + redis.call('ZREM', KEYS[3], webhooks[i] .. ' ' .. ids[n])
    end
  end
end
return unsent
