-- Changes a job while it is in one of the given states: a status only moves forward.
-- KEYS  job.  ARGV  states as "queued running", worker that it must have (or ""), stage that forbids it (or ""),
-- seconds to live, then fields and values.
local status = redis.call('HGET', KEYS[1], 'status')
if not status or not string.find(ARGV[1], string.sub(status, 2, -2), 1, true) then return 0 end
if ARGV[2] ~= '' and redis.call('HGET', KEYS[1], 'worker') ~= ARGV[2] then return 0 end
if ARGV[3] ~= '' and redis.call('HGET', KEYS[1], 'stage') == ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 5))
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
