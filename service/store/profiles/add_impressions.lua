-- Add impressions to the capped side stream. KEYS  stream.  ARGV  watermark, most entries, then user, records, ...
for i = 3, #ARGV, 2 do
  local id = ARGV[1] .. '-' .. (i - 3) / 2
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], id, 'u', ARGV[i], 'd', ARGV[i + 1])
end
