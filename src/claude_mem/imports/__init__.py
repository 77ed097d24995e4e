"""Memory from elsewhere, as records of our export format: other tools, git, notes, JSON Lines."""
