-- What it takes to append to logs. A log is {sequence, entries, bytes, state}: the keys of a partition.

-- The answer that a call got before, {-2} if a later call of its process got one; nil for a new call.
local function given_before(receipt, counter)
  local given = redis.call('GET', receipt)
  if not given then return nil end
  local numbers = {}
  for number in string.gmatch(given, '%d+') do numbers[#numbers + 1] = tonumber(number) end
  local latest = table.remove(numbers, 1)
  if tonumber(counter) == latest then return numbers end
  if tonumber(counter) < latest then return {-2} end
end

-- Answer a call, and note the answer: its process may not hear of it, and ask again.
local function give(receipt, counter, seconds, numbers)
  redis.call('SET', receipt, counter .. ' ' .. table.concat(numbers, ' '), 'EX', seconds)
  return numbers
end

-- Is this the store that the caller knows, with all events that it has heard of?
local function is_as_known(log, known, newest)
  return is_known(log.state, known) and tonumber(redis.call('GET', log.sequence) or '0') >= tonumber(newest)
end

-- Has the time passed, by the clock of the store, until which a call may be carried out? '' is for ever.
local function is_late(until_ms)
  if until_ms == '' then return false end
  local now = redis.call('TIME')
  return 1000 * tonumber(now[1]) + tonumber(now[2]) / 1000 > tonumber(until_ms)
end

-- Is there room for an entry? An empty log takes any.
local function has_room(log, entry, most)
  local waiting = tonumber(redis.call('GET', log.bytes) or '0')
  return waiting == 0 or waiting + #entry <= tonumber(most)
end

-- Append an entry of n events; return the sequence of the last one. The requests that they came with are ''
-- if nobody follows them.
local function append(log, n, entry, checksum, requests)
  local sequence = redis.call('INCRBY', log.sequence, n)
  local id = string.format('%.0f-0', sequence)
  if requests == '' then redis.call('XADD', log.entries, id, 'd', entry, 'c', checksum)
  else redis.call('XADD', log.entries, id, 'd', entry, 'c', checksum, 'r', requests) end
  redis.call('INCRBY', log.bytes, #entry)
  return sequence
end

