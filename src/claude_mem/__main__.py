"""`python -m claude_mem` is `claude-mem`."""

import sys

from claude_mem.cli import main

sys.exit(main())
