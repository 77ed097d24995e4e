"""Claude Code. Nothing here touches the machine but the readers of its transcripts."""
