// A list of which only the first few are seen at once; the rest unfolds.

import { h } from "./dom.js";

// listed(items) gives the list of some of them. Two more than a few are not worth folding.
export function folded(items, few, listed) {
  if (items.length <= few + 2) return listed(items);
  return [
    listed(items.slice(0, few)),
    h("details", null, h("summary", null, `${items.length - few} more`), listed(items.slice(few))),
  ];
}
