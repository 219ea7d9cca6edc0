"""One owner's files: the log, the days, what was derived, and the cache over them."""
