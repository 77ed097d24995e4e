"""The hook process: read, scrub, spool, wake the worker, answer. Imports only the cheapest standard
modules."""
