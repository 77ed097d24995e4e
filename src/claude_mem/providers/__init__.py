"""The model providers. Each is one file here and one row of `registry`."""
