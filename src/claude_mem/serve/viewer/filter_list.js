// Generated from the code by scripts/docs.py; run `make docs` after a change.
export const FILTERS = [
  {"name":"project","kind":"text","choices":[],"help":"Only this project: its name or key."},
  {"name":"kind","kind":"list","choices":["observation","summary","prompt","evidence"],"help":"Only these kinds."},
  {"name":"type","kind":"list","choices":["bugfix","feature","refactor","change","discovery","decision"],"help":"Only observations of these types."},
  {"name":"concept","kind":"list","choices":[],"help":"Only memories with one of these concepts."},
  {"name":"file","kind":"text","choices":[],"help":"Only memories about this path, end of a path, directory (src/) or glob (src/*.py)."},
  {"name":"branch","kind":"text","choices":[],"help":"Only from work on this git branch."},
  {"name":"session","kind":"text","choices":[],"help":"Only this session."},
  {"name":"client","kind":"text","choices":[],"help":"Only from this coding agent."},
  {"name":"since","kind":"text","choices":[],"help":"From this time on: yesterday, last week, 3 days ago, 2026-01-31, or a git tag."},
  {"name":"until","kind":"text","choices":[],"help":"Up to this time, in the same format."},
  {"name":"superseded","kind":"switch","choices":[],"help":"Only memories replaced by newer ones; false: exclude them."},
  {"name":"wrong","kind":"switch","choices":[],"help":"Only memories marked wrong; false, and always in a search: exclude them."},
  {"name":"pinned","kind":"flag","choices":[],"help":"Only pinned memories."},
  {"name":"raw","kind":"flag","choices":[],"help":"List raw tool events too, instead of only the memories made from them."},
];
