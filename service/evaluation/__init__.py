"""`hedgerow eval`: measures models on data sets in files, with the code that trains and serves."""
