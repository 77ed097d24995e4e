"""What a client runs: `<absolute python> -I -S <this file>`. `claude-mem mcp` starts slower.

-I keeps the project's own modules out, -S saves the site-packages scan; so it says itself where its
package lies.
"""

import sys

sys.path.insert(0, __file__.rsplit("/", 4)[0])

from claude_mem.cli.bridge import main

main()
