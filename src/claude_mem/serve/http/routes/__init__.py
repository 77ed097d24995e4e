"""The routes, one file per noun. The parameters and responses of handlers are declared in
`claude_mem.api`."""
