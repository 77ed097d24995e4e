"""Contract suites every adapter must pass. Shipped, so that adapter authors can run them."""
