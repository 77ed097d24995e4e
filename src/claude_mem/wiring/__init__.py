"""The composition root: the only importer of concrete adapters. The worker itself is built in `composition`,
which commands do not import."""

from claude_mem.wiring.assembly import choice, mode_in_force
from claude_mem.wiring.database import backup, foreign, restore, survey, tally

__all__ = [
    "backup",
    "choice",
    "foreign",
    "mode_in_force",
    "restore",
    "survey",
    "tally",
]
