// Why a prompt brings up what it does: each memory that was thought of, and the parts of its score.

import { h } from "./dom.js";
import { memoryLink } from "./router.js";
import { titleOf } from "./row.js";
import { n, table } from "./table.js";

// Each column. "opening" is none: it speaks for what was asked, which is not thought of here.
const MEANING = {
  relevance: "words, coverage, vectors and file combined; decides what is injected",
  score: "relevance times prior; decides the order. Beyond its three best, memories of one session rank slightly lower",
  words: "how well its own words match the prompt; rare words count more",
  coverage: "how much of the prompt its whole session covers",
  vectors: "how close its session is in meaning, compared with the other results; below 0: less close than most",
  file: "whether it is about a file that the prompt names, or about its folder",
  prior:
    "what counts for every prompt. Higher: recent, pinned, from this branch. Lower: read but not verified, or the code has changed since",
};

export function why({ hits, floor, beside }) {
  const names = Object.keys(MEANING);
  return [
    h("h2", null, "Why"),
    h(
      "p",
      { class: "meta" },
      `Injected: memories with a relevance of at least ${floor} and at least ${100 * beside} % of the best, as long as there is room.`,
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
        each.told ? "yes" : "no",
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
