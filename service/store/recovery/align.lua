-- Give a partition the identity of its namespace, unless it has a later era of the same incarnation already.
-- KEYS  state.  ARGV  identity, its incarnation, its era
local stored = redis.call('HGET', KEYS[1], 'identity')
if stored then
  local incarnation, era = string.match(stored, '^(%x+)%.(%d+)%.')
  if incarnation == ARGV[2] and tonumber(era) > tonumber(ARGV[3]) then return 0 end
end
redis.call('HSET', KEYS[1], 'identity', ARGV[1])
return 1
