-- Is this the store that the caller knows? ``known`` is "<identity>/<run>"; '' is a caller that knows nothing yet.
-- The run is the server's replication id: every start of a server and every failover draws a new one.
local function is_known(key, known)
  if known == '' then return true end
  local stored = redis.call('HGET', key, 'identity') or ''
  local run = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
  return known == stored .. '/' .. run
end
local OTHER_STORE = {err = 'OTHERSTORE the store was restarted or went back since the caller read from it'}
