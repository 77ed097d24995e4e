"""The hook process: read, scrub, spool, wake the worker, answer. The standard library's cheapest alone."""
