"""Frozen values that are passed between the stages. Imports none of our other packages."""
