-- Append one entry of n events to the log of a partition; a repeat gets the first answer.
-- KEYS  sequence, log, log-bytes, receipt of this process, state, version of the API keys,
--       the latest ids of events, those before;
--       for the deletion of a user: receipt of its erasure, open erasures, document, index of documents;
--       for a merge: the last merges of both users
-- ARGV  n, packed entry, counter of this process, most bytes in the log, seconds a receipt lives,
--       the store that the caller knows, the newest event that it knows,
--       the version of the keys by which the sender was let in; '-' if that does not matter,
--       checksum of the packed entry, the requests that its events came with ('' if nobody follows them),
--       where its ids begin and how many there are,
--       how many ids are noted in one place, how many of one entry, seconds they are remembered,
--       until which time of the store, in ms, it may be appended; '' for ever;
--       for the deletion of a user: erasure, user, its receipt without a place, seconds it is kept
-- Answers the sequence of the last event and the places of the ids that came before; -1 alone when the
-- log is full, -2 for a counter from the past, -3 if the keys have changed, -5 if it is late; OTHERSTORE.
local log = {sequence = KEYS[1], entries = KEYS[2], bytes = KEYS[3], state = KEYS[5]}
-- first of all: an entry that was appended before a restart must not be refused, and then sent anew
local before = given_before(KEYS[4], ARGV[3])
if before then return before end
if is_late(ARGV[16]) then return {-5} end
if not is_as_known(log, ARGV[6], ARGV[7]) then return OTHER_STORE end
if ARGV[8] ~= '-' and (redis.call('GET', KEYS[6]) or '') ~= ARGV[8] then return {-3} end
if not has_room(log, ARGV[2], ARGV[4]) then return {-1} end
local sequence = append(log, ARGV[1], ARGV[2], ARGV[9], ARGV[10])
local bounds = {place = tonumber(ARGV[13]), entry = tonumber(ARGV[14]), seconds = ARGV[15]}
local numbers = repeats(KEYS[7], KEYS[8], ARGV[2], tonumber(ARGV[11]), tonumber(ARGV[12]), bounds)
table.insert(numbers, 1, sequence)
if ARGV[17] then
  local erasure = cjson.decode(ARGV[19])
  erasure.sequence = sequence
  redis.call('SET', KEYS[9], cjson.encode(erasure), 'EX', ARGV[20])
  redis.call('HSET', KEYS[10], ARGV[17], ARGV[18])
  redis.call('DEL', KEYS[11])
  redis.call('ZREM', KEYS[12], ARGV[18])
else
  for i = 9, #KEYS do redis.call('SET', KEYS[i], sequence, 'EX', ARGV[5]) end
end
return give(KEYS[4], ARGV[3], ARGV[5], numbers)
