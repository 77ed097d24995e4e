// Made of the code by scripts/docs.py; run `make docs` after a change.
export const FILTERS = [
  {"name":"project","kind":"text","choices":[],"help":"Only this project: its name or key."},
  {"name":"kind","kind":"list","choices":["observation","summary","prompt","evidence"],"help":"Only these kinds."},
  {"name":"type","kind":"list","choices":["bugfix","feature","refactor","change","discovery","decision"],"help":"Only observations of these types."},
  {"name":"concept","kind":"list","choices":[],"help":"Only with one of these concepts."},
  {"name":"file","kind":"text","choices":[],"help":"Only about a path, the end of one, a directory (src/) or a glob (src/*.py)."},
  {"name":"branch","kind":"text","choices":[],"help":"Only from work on this git branch."},
  {"name":"session","kind":"text","choices":[],"help":"Only this session."},
  {"name":"client","kind":"text","choices":[],"help":"Only from this coding agent."},
  {"name":"since","kind":"text","choices":[],"help":"From this time on: yesterday, last week, 3 days ago, 2026-01-31, or a git tag."},
  {"name":"until","kind":"text","choices":[],"help":"Up to this time, in the same format."},
  {"name":"superseded","kind":"switch","choices":[],"help":"Only memories replaced by newer ones; false: none of them."},
  {"name":"wrong","kind":"switch","choices":[],"help":"Only memories marked wrong; false, and always in a search: none of them."},
  {"name":"pinned","kind":"flag","choices":[],"help":"Only pinned memories."},
  {"name":"raw","kind":"flag","choices":[],"help":"Raw tool events as results of their own, not folded into the memory they led to."},
];
