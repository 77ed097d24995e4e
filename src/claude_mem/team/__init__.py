"""The exchange with the server of a team: what is sent, what is pulled, and when a branch counts as merged."""
