"""The worker: `lifecycle` runs it, `hook_socket` answers hooks, `http` and `mcp` everybody else."""
