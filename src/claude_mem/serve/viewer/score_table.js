// The scores of the memories that were candidates for a prompt: each with the parts of its score.

import { h } from "./dom.js";
import { memoryLink } from "./router.js";
import { titleOf } from "./row.js";
import { n, table } from "./table.js";

// What each column means.
const MEANING = {
  score: "the other columns combined, times prior; determines the order. After a session's three best memories, its others rank lower",
  words: "how well its words match the prompt, in standard deviations; rare words count more",
  session: "how well its whole session answers the prompt",
  vectors: "how close it is in meaning, in standard deviations",
  file: "whether it is about a file that the prompt mentions, or about its folder",
  prior:
    "what does not depend on the prompt. Higher: recent, pinned, from this branch. Lower: read but not verified, or the code has changed since",
};

export function scoreTable({ hits, evidence, enough, beside }) {
  const names = Object.keys(MEANING);
  return [
    h("h2", null, "Why"),
    h(
      "p",
      { class: "meta" },
      `Evidence that memory has an answer: ${evidence}; at least ${enough} is needed to inject anything. Then up to three memories with at least ${100 * beside}% of the best score.`,
    ),
    table(
      "Score parts",
      ["Memory", "Injected", ...names.map(n)],
      hits.map((each) => [
        h(
          "a",
          { class: "title", href: memoryLink(each) },
          h("span", { class: "ref" }, `#${each.ref}`),
          " ",
          titleOf(each),
        ),
        each.selected ? "yes" : "no",
        ...names.map((name) => (each[name] ?? each.parts[name]).toFixed(2)),
      ]),
    ),
    h(
      "details",
      null,
      h("summary", null, "What the columns mean"),
      h(
        "dl",
        { class: "keys" },
        names.map((name) => [h("dt", null, name), h("dd", null, MEANING[name])]),
      ),
    ),
  ];
}
