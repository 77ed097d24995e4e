"""Goose."""
