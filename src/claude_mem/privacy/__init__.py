"""What must not be recorded, and how it is found and taken out: for hooks, the worker and imports alike."""
