-- Append records to the histories of many users: one reply instead of one for each.
-- A record has 24 bytes. Odd bytes at the end of a history would shift all later records: cut them.
for i = 1, #KEYS do
  local size = redis.call('STRLEN', KEYS[i])
  local whole = size - size % 24
  if whole == 0 and size > 0 then
    redis.call('DEL', KEYS[i])
  elseif whole < size then
    redis.call('SET', KEYS[i], redis.call('GETRANGE', KEYS[i], 0, whole - 1))
  end
  redis.call('APPEND', KEYS[i], ARGV[i])
end
