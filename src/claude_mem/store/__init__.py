"""The store: the only code that knows SQL. `base` declares it; `sqlite` implements it."""
