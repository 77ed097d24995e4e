"""The worker's HTTP application."""
