"""Words: what is a word, and vectors of words by fBGD on what stands beside what."""
