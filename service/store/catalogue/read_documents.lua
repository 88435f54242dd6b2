-- Read many documents. KEYS  documents. Answers them as one string, one a line, an empty line for each that is not
-- there: a reply for each would take Python longer to receive than all the rest.
local documents = redis.call('MGET', unpack(KEYS))
for i = 1, #documents do documents[i] = documents[i] or '' end
return table.concat(documents, '\n')
