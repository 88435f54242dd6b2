-- Note the n ids of an entry, of which the first begins behind ``at``, in one place; a full place becomes
-- the one before. Return the rows with an id, from 0, whose id is noted in one of the two already.
local function repeats(latest, before, entry, at, n, bounds)
  if n == 0 or bounds.place == 0 then return {} end
  if n > bounds.entry then
    -- with so many new ids a window may forget old ones, and these are no repeats then
    redis.call('UNLINK', latest, before)
    return {}
  end
  -- an id has 12 bytes; the 4 behind it say who sent it
  local ids, new, met, found = {}, {}, {}, {}
  for i = 1, n do ids[i] = string.sub(entry, at + 16 * i - 15, at + 16 * i - 4) end
  local is_late = redis.call('HMGET', latest, unpack(ids))
  local is_older = redis.call('HMGET', before, unpack(ids))
  for i, id in ipairs(ids) do
    if is_late[i] or is_older[i] or met[id] then
      found[#found + 1] = i - 1
    else
      met[id], new[#new + 1], new[#new + 2] = true, id, ''
    end
  end
  if #new == 0 then return found end
  redis.call('HSET', latest, unpack(new))
  local held = redis.call('HLEN', latest)
  if 2 * held == #new then redis.call('EXPIRE', latest, bounds.seconds) end
  if held >= bounds.place then
    redis.call('UNLINK', before)
    redis.call('RENAME', latest, before)
  end
  return found
end

