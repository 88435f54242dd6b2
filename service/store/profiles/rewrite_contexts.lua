-- After a history was rewritten, keep the contexts of the events that it still has.
-- KEYS: the history, the user's contexts, those of a user who was merged into this one, if any.
-- ARGV[1]: the most bytes of a user; beyond them the oldest go. An entry: see append_contexts.lua.
if redis.call('EXISTS', unpack(KEYS, 2)) == 0 then
  return
end
local history, kept = redis.call('GET', KEYS[1]) or '', {}
for record = 1, #history, 24 do
  -- the sequence of a record has the same six bytes as that of an entry
  kept[history:sub(record + 16, record + 21)] = true
end

local function sequence(entry)
  local number = 0
  for i = 6, 1, -1 do
    number = 256 * number + entry:byte(i)
  end
  return number
end

local found = {}
for i = 2, #KEYS do
  local all, at = redis.call('GET', KEYS[i]) or '', 1
  while at + 7 <= #all do
    local after = at + 8 + all:byte(at + 6) + 256 * all:byte(at + 7)
    if kept[all:sub(at, at + 5)] then
      found[#found + 1] = all:sub(at, after - 1)
    end
    at = after
  end
end
if #KEYS > 2 then
  table.sort(found, function(a, b) return sequence(a) < sequence(b) end)
end

local first, size = #found + 1, 0
while first > 1 and size + #found[first - 1] <= tonumber(ARGV[1]) do
  first = first - 1
  size = size + #found[first]
end
if size > 0 then
  redis.call('SET', KEYS[2], table.concat(found, '', first))
else
  redis.call('DEL', KEYS[2])
end
