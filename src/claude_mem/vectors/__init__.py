"""Who embeds text, and who keeps the vectors. All of it optional: full text answers alone."""
