"""The store: the only code that knows SQL. `base` says what one is; `sqlite` is one."""
