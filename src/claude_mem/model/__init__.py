"""Frozen values that travel between the stages. Imports nothing of ours."""
