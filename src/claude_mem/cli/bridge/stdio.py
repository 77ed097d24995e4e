"""The program that a client runs: `<absolute python> -I -S <this file>`. `claude-mem mcp` starts more slowly.

-I keeps the project's own modules out, and -S avoids the site-packages scan. So this file adds the path of
its package itself.
"""

import sys

sys.path.insert(0, __file__.rsplit("/", 4)[0])

from claude_mem.cli.bridge import main

main()
