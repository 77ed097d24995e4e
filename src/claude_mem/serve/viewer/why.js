// Why a prompt brings up what it does: each memory that was thought of, and the parts of its score.

import { h } from "./dom.js";
import { memoryLink } from "./router.js";
import { titleOf } from "./row.js";
import { n, table } from "./table.js";

// Each column. "opening" is none: it speaks for what was asked, which is not thought of here.
const MEANING = {
  relevance: "words, coverage, vectors and file together; it decides what is told",
  score: "relevance times prior; it decides the order. What one session has beyond its three best steps back a little",
  words: "how well its own words fit the prompt; rare words count more",
  coverage: "how much of the prompt its whole session speaks of",
  vectors: "how near its session is in meaning, beside the others found; below 0: less near than most",
  file: "it is about a file that the prompt names, or about its folder",
  prior:
    "what counts whatever is asked. For it: new, pinned, of this branch; against it: read and not verified, or the code has moved on",
};

export function why({ hits, floor, beside }) {
  const names = Object.keys(MEANING);
  return [
    h("h2", null, "Why"),
    h(
      "p",
      { class: "meta" },
      `Told is what is relevant by ${floor} or more, and by ${100 * beside} % of the best or more, until the room is used up.`,
    ),
    table(
      "Score parts",
      ["Memory", "Told", ...names.map(n)],
      hits.map((each) => [
        h(
          "a",
          { class: "title", href: memoryLink(each) },
          h("span", { class: "ref" }, `#${each.ref}`),
          " ",
          titleOf(each),
        ),
        each.told ? "yes" : "no",
        ...names.map((name) => (each[name] ?? each.parts[name]).toFixed(2)),
      ]),
    ),
    h(
      "details",
      null,
      h("summary", null, "What the columns say"),
      h(
        "dl",
        { class: "keys" },
        names.map((name) => [h("dt", null, name), h("dd", null, MEANING[name])]),
      ),
    ),
  ];
}
