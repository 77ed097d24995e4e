"""The parts of a store that both databases share: logic here, statements in `sql/`."""
