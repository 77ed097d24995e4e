"""One folder for each coding agent: its hooks and how they are installed, its payloads, its transcripts."""
