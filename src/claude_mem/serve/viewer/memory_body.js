// A memory in full: the fields of its kind, as sections.

import { h } from "./dom.js";
import { fieldsOf } from "./fields.js";
import { folded } from "./fold.js";
import { fileLink, link } from "./router.js";

const SUMMARY = [
  ["request", "Asked"],
  ["investigated", "Investigated"],
  ["learned", "Learned"],
  ["completed", "Completed"],
  ["next_steps", "Next steps"],
  ["notes", "Notes"],
];

export function body(memory) {
  if (memory.kind === "summary")
    return [
      SUMMARY.map(([name, label]) => prose(label, memory[name])),
      paths("Files edited", memory.files_edited, memory),
      paths("Files read", memory.files_read, memory),
    ];
  if (memory.kind === "prompt") return h("div", { class: "panel prose" }, memory.prompt || memory.title);
  if (memory.kind === "evidence") {
    return [
      raw("What went in", memory.tool_input),
      raw("What came out", memory.tool_response),
      !memory.tool_input && !memory.tool_response && raw("Text", memory.text || memory.snippet),
    ];
  }
  const facts = memory.facts || [],
    concepts = memory.concepts || [];
  return [
    prose("What happened", memory.narrative || memory.text),
    facts.length > 0 &&
      h(
        "section",
        { class: "panel" },
        h("h2", null, "Facts"),
        h(
          "ul",
          { class: "facts" },
          facts.map((fact) => h("li", null, fact)),
        ),
      ),
    concepts.length > 0 &&
      h(
        "section",
        null,
        h("h2", null, "Concepts"),
        h(
          "div",
          { class: "chips" },
          concepts.map((word) => h("a", { class: "chip", href: link("find", "", { q: word }) }, word)),
        ),
      ),
    paths("Files changed", memory.files_modified, memory),
    paths("Files read", memory.files_read, memory),
  ];
}

const prose = (label, text) =>
  text && h("section", { class: "panel" }, h("h2", null, label), h("div", { class: "prose" }, text));

function raw(label, value) {
  if (!value) return null;
  const read = fieldsOf(value)?.map(({ name, said }, nth) => [
    nth > 0 && "\n",
    name && [h("strong", null, name), said.includes("\n") ? "\n" : "  "],
    said,
  ]);
  return h(
    "section",
    null,
    h("h2", null, label),
    h("pre", { class: "text", tabindex: 0, "aria-label": label }, read || value),
  );
}

const FEW = 10;

function paths(label, list, memory) {
  if (!list?.length) return null;
  const listed = (some) =>
    h(
      "ul",
      { class: "plain mono" },
      some.map((path) => h("li", null, h("a", { href: fileLink(path, memory.project) }, path))),
    );
  return h("section", null, h("h2", null, label), folded(list, FEW, listed));
}
