"""The exchange with a team's server: what is sent, what is pulled, and when a branch counts as merged."""
