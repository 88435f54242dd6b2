"""`hedgerow eval`: how good models are on files, by the code that trains and serves."""
