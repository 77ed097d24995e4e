"""The model providers: one file here and one row in `registry` each."""
