"""Who can be asked to observe: models behind a wire, and an observer that needs none."""
