"""An observer that needs no model: it writes down what tools did and the agent said, as far as that shows.

A batch is cut into turns (`turns`), each tool call read into a step (`tool_steps`, `steps`); commands are
judged (`shell`, `verdicts`, `testruns`, `failures`), edits gathered by file (`diffs`, `outline`,
`file_change`). What comes of it is told by `changes` (with `headlines` and `details`), `errands`,
`discoveries`, `decisions` and `summary`.
"""

from claude_mem.observe.offline.extract import Offline

__all__ = ["Offline"]
