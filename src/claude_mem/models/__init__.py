"""Who can be asked to observe. A provider is one file here and one row of `registry`."""
