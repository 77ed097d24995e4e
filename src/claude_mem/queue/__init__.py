"""From spool files to leased batches: idempotent, in order, never losing one."""
