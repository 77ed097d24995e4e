// A list that shows its first few items; the rest unfolds.

import { h } from "./dom.js";

// listed(items) returns the list of some items. One or two more than a few are not folded.
export function folded(items, few, listed) {
  if (items.length <= few + 2) return listed(items);
  return [
    listed(items.slice(0, few)),
    h("details", null, h("summary", null, `${items.length - few} more`), listed(items.slice(few))),
  ];
}
