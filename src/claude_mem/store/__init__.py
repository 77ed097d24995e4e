"""The store: the only code that knows SQL. `base` says what a store is; `sqlite` and `postgres` are the two
there are, and `relational` has what both run."""
