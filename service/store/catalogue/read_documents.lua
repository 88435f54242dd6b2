-- Read many documents. KEYS  documents. Answers them as one string, one a line, an empty line for each that is not
-- there: a reply for each would take Python longer to receive than all the rest. A line feed is only in damaged ones.
local documents = redis.call('MGET', unpack(KEYS))
for i = 1, #documents do
  documents[i] = documents[i] or ''
  if string.find(documents[i], '\n', 1, true) then documents[i] = string.gsub(documents[i], '\n', ' ') end
end
return table.concat(documents, '\n')
