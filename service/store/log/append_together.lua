-- Append an entry to each of some partitions, or to none; a repeat gets the first answer. It is a merge: the
-- last entry moves a user's events away, those before are what was read of them.
-- KEYS  receipt of this process, the user's last merge; sequence, log, log-bytes and state of each partition
-- ARGV  counter of this process, most bytes in a log, seconds a receipt lives, the store that the caller
--       knows, the user's last merge that it knows, until which time of the store, in ms, it may be appended;
--       for each partition: n, packed entry, its checksum, the newest event that the caller knows
-- Answers the sequence of the last event in each; -1 alone when a log is full, -2 for a counter from the
-- past, -4 if there was another merge since, -5 if it is late; OTHERSTORE.
local before = given_before(KEYS[1], ARGV[1])
if before then return before end
if is_late(ARGV[6]) then return {-5} end
local logs, numbers = {}, {}
for at = 2, #KEYS - 4, 4 do
  local log = {sequence = KEYS[at + 1], entries = KEYS[at + 2], bytes = KEYS[at + 3], state = KEYS[at + 4]}
  log.n, log.entry, log.checksum = ARGV[at + 5], ARGV[at + 6], ARGV[at + 7]
  if not is_as_known(log, ARGV[4], ARGV[at + 8]) then return OTHER_STORE end
  if not has_room(log, log.entry, ARGV[2]) then return {-1} end
  logs[#logs + 1] = log
end
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[5] then return {-4} end
for i, log in ipairs(logs) do numbers[i] = append(log, log.n, log.entry, log.checksum, '') end
redis.call('SET', KEYS[2], numbers[#numbers], 'EX', ARGV[3])
return give(KEYS[1], ARGV[1], ARGV[3], numbers)
