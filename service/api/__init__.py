"""HTTP: routes, their schemas, authorisation and problems. Handlers parse, call one method, shape the answer."""
