"""The store: the only code that knows SQL. `base` declares what a store is; `sqlite` and `postgres` are the
implementations, and `relational` has what they share."""
