-- Append one entry of n events to the log of a partition; a repeat gets the first answer.
-- KEYS  sequence, log, log-bytes, receipt of this process, state, version of the API keys;
--       for the deletion of a user: receipt of its erasure, open erasures, document, index of documents
-- ARGV  n, packed entry, counter of this process, most bytes in the log, seconds a receipt lives,
--       the store that the caller knows, the newest event that it knows,
--       the version of the keys by which the sender was let in; '-' if that does not matter,
--       checksum of the packed entry, the requests that its events came with ('' if nobody follows them);
--       for the deletion of a user: erasure, user, its receipt without a place, seconds it is kept
-- Answers the sequence of the last event, -1 when the log is full, -2 for a counter from the past,
-- -3 if the keys have changed; OTHERSTORE.
local receipt = redis.call('GET', KEYS[4])
if receipt then
  -- first of all: an entry that was appended before a restart must not be refused, and then sent anew
  local counter, sequence = string.match(receipt, '^(%d+) (%d+)$')
  if tonumber(ARGV[3]) == tonumber(counter) then return tonumber(sequence) end
  if tonumber(ARGV[3]) < tonumber(counter) then return -2 end
end
if not is_known(KEYS[5], ARGV[6]) then return OTHER_STORE end
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[7]) then return OTHER_STORE end
if ARGV[8] ~= '-' and (redis.call('GET', KEYS[6]) or '') ~= ARGV[8] then return -3 end
local waiting = tonumber(redis.call('GET', KEYS[3]) or '0')
if waiting > 0 and waiting + #ARGV[2] > tonumber(ARGV[4]) then return -1 end
local sequence = string.format('%.0f', redis.call('INCRBY', KEYS[1], ARGV[1]))
if ARGV[10] == '' then redis.call('XADD', KEYS[2], sequence .. '-0', 'd', ARGV[2], 'c', ARGV[9])
else redis.call('XADD', KEYS[2], sequence .. '-0', 'd', ARGV[2], 'c', ARGV[9], 'r', ARGV[10]) end
redis.call('INCRBY', KEYS[3], #ARGV[2])
if KEYS[7] then
  local erasure = cjson.decode(ARGV[13])
  erasure.sequence = tonumber(sequence)
  redis.call('SET', KEYS[7], cjson.encode(erasure), 'EX', ARGV[14])
  redis.call('HSET', KEYS[8], ARGV[11], ARGV[12])
  redis.call('DEL', KEYS[9])
  redis.call('ZREM', KEYS[10], ARGV[12])
end
redis.call('SET', KEYS[4], ARGV[3] .. ' ' .. sequence, 'EX', ARGV[5])
return tonumber(sequence)
