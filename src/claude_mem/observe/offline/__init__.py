"""An observer that needs no model: it takes what the agent itself said of its work, held against what it did.

A batch is cut into `turns`, each tool call read into one of the `steps`; `commands` judges tests and finds
commits, `message` sorts the agent's last words, `request` the user's, `titles` picks the sentence that says
what came of it. `extract` puts observations and the turn's summary together.
"""

from claude_mem.observe.offline.extract import Offline

__all__ = ["Offline"]
