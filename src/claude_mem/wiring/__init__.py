"""The composition root: the only importer of concrete adapters."""

from claude_mem.wiring.files import backup, foreign, restore, survey, tally
from claude_mem.wiring.observer import choice, mode_in_force
from claude_mem.wiring.worker import build, leave_notice

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
