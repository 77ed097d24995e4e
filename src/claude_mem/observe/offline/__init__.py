"""The offline observer, which needs no model: it extracts what the agent said about its work and checks it
against what the tools did.

A batch is split into `turns`, and each tool call becomes one of the `steps`. `commands` evaluates tests and
finds commits, `message` classifies the parts of the agent's last message, `request` condenses the user's
request, and `titles` picks the sentence that states the outcome. `extract` builds the observations and the
turn's summary.
"""

from claude_mem.observe.offline.extract import Offline

__all__ = ["Offline"]
