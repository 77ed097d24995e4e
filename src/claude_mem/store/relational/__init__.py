"""The parts of a store that any relational database runs: decisions here, statements in `sql/`."""
