"""The composition root: the only importer of concrete adapters."""
