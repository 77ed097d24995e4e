"""The composition root: the only importer of concrete adapters. The worker itself is built in
`worker_services`, which commands do not import."""

from claude_mem.wiring.database import backup, foreign, restore, survey, tally
from claude_mem.wiring.observer_setup import choice, mode_in_force

__all__ = [
    "backup",
    "choice",
    "foreign",
    "mode_in_force",
    "restore",
    "survey",
    "tally",
]
