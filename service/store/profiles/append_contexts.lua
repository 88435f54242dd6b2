-- Append entries to the contexts of many users; ARGV[1] is the most bytes of a user.
-- An entry: sequence (6 bytes), size of the text (2 bytes), text; numbers are little-endian.
-- Beyond the most the oldest entries go, an eighth of it at a time. Entries are taken one by one,
-- however many a commit brings, so that the result does not depend on the commits.
local most = tonumber(ARGV[1])
for i = 1, #KEYS do
  local new = ARGV[i + 1]
  local stored = redis.call('STRLEN', KEYS[i])
  if stored + #new <= most then
    redis.call('APPEND', KEYS[i], new)
  else
    local all = (redis.call('GET', KEYS[i]) or '') .. new
    local function after(entry)
      -- 0 behind the end of what is damaged: a commit must not fail for ever
      return entry + 8 + (all:byte(entry + 6) or 0) + 256 * (all:byte(entry + 7) or 0)
    end
    local first, at = 1, stored + 1
    while at <= #all do
      at = after(at)
      while at - first > most do
        repeat first = after(first) until at - first <= most * 7 / 8
      end
    end
    redis.call('SET', KEYS[i], all:sub(first))
  end
end
