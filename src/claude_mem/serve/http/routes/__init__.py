"""The routes, one file per noun. What a handler takes and answers is declared in `claude_mem.api`."""
