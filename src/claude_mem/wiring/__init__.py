"""The composition root: the only importer of concrete adapters."""

from claude_mem.wiring.composition import build, leave_notice
from claude_mem.wiring.database import backup, foreign, restore, survey, tally
from claude_mem.wiring.observer import choice, mode_in_force

__all__ = [
    "backup",
    "build",
    "choice",
    "foreign",
    "leave_notice",
    "mode_in_force",
    "restore",
    "survey",
    "tally",
]
