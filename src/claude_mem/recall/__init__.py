"""Finds, ranks and packs what is remembered. Pure decisions; what they need is passed in."""
