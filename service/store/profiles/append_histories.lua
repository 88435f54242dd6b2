-- Append records to the histories of many users: one reply instead of one for each.
for i = 1, #KEYS do redis.call('APPEND', KEYS[i], ARGV[i]) end
