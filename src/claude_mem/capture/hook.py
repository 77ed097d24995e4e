"""What the client runs: `<absolute python> -I -S <this file> <verb>`.

Kept this short because a script is compiled anew on every run, while what it imports is cached. -I keeps the
project's own modules out, -S saves the site-packages scan; so it says itself where its package lies.
"""

import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0])

from claude_mem.capture.entry import main

main(sys.argv[1] if len(sys.argv) > 1 else "hook")
