-- Give every id its number: the next free one if it is new. Numbers are dense and never reused.
-- KEYS  item-numbers (id -> number), item-ids (number -> id), namespace
-- ARGV  most numbers, the store that the caller knows, how many numbers it knows to be given, then ids
-- Answers a number for each id, -1 where it would be one too many; OTHERSTORE.
local numbers = {}
local next_number = redis.call('LLEN', KEYS[2])
if next_number < tonumber(ARGV[3]) or not is_known(KEYS[3], ARGV[2]) then return OTHER_STORE end
for i = 4, #ARGV do
  local known = redis.call('HGET', KEYS[1], ARGV[i])
  if known then
    numbers[i - 3] = tonumber(known)
  elseif next_number >= tonumber(ARGV[1]) then
    numbers[i - 3] = -1
  else
    redis.call('HSET', KEYS[1], ARGV[i], next_number)
    redis.call('RPUSH', KEYS[2], ARGV[i])
    numbers[i - 3] = next_number
    next_number = next_number + 1
  end
end
return numbers
