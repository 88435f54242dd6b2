-- Store a new API key, or revoke one: one step, so that an admin key is left whoever else does the same meanwhile.
-- KEYS  keys, namespace, version of the keys
-- ARGV  the store that the caller knows, id, key as JSON or '' to revoke, time of a revocation,
--       new version, 'any' if the last admin key may be revoked
-- Answers the stored key; 'no-admin', 'last-admin' or 'unknown' without having changed anything; OTHERSTORE.
if not is_known(KEYS[2], ARGV[1]) then return OTHER_STORE end

local function is_set(value) return value ~= nil and value ~= cjson.null end

-- a key that ends some day does not count: nobody may be at hand then
local function works_as_admin(key)
  return key.role == 'admin' and not is_set(key.revoked) and not is_set(key.expires_ms)
end

local admins = 0
for _, packed in ipairs(redis.call('HVALS', KEYS[1])) do
  if works_as_admin(cjson.decode(packed)) then admins = admins + 1 end
end

local packed = ARGV[3]
if packed ~= '' then
  if admins == 0 and not works_as_admin(cjson.decode(packed)) then return 'no-admin' end
else
  packed = redis.call('HGET', KEYS[1], ARGV[2])
  if not packed then return 'unknown' end
  local key = cjson.decode(packed)
  if is_set(key.revoked) then return packed end
  if works_as_admin(key) and admins == 1 and ARGV[6] ~= 'any' then return 'last-admin' end
  key.revoked = ARGV[4]
  packed = cjson.encode(key)
end
redis.call('HSET', KEYS[1], ARGV[2], packed)
redis.call('SET', KEYS[3], ARGV[5])
return packed
