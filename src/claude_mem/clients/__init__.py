"""One coding agent's dialect per file: its hook payloads in, our events out."""
