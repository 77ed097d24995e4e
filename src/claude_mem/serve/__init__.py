"""The worker: its life, its sockets and its HTTP application."""
