// One memory: its text, its origin, and the actions on it.

import { anew, h } from "../dom.js";
import { get } from "../api.js";
import { on } from "../stream.js";
import { bind } from "../keys.js";
import { released } from "../press.js";
import { forgotten } from "../forgotten.js";
import { go, memoryLink, projectLink, sessionLink } from "../router.js";
import { chip, isGone, marks, titleOf, when } from "../row.js";
import { body } from "../memory_body.js";
import { folded } from "../fold.js";
import * as actions from "../actions.js";
import { edit } from "../edit.js";
import { agentOf, brief, leaf, many, moment, number, occasion } from "../words.js";

const FEW = 8;

export async function show(place, main, signal) {
  const ref = place.id;
  let memory,
    asked = 0;
  const showError = forgotten(main, ref);
  async function load() {
    const mine = ++asked;
    const [found, origin] = await Promise.all([
      get(`/api/observation/${encodeURIComponent(ref)}`, null, signal),
      get(`/api/observation/${encodeURIComponent(ref)}/provenance`, null, signal).catch(() => null),
    ]);
    await released();
    if (signal.aborted || mine !== asked) return; // a later request has newer data
    memory = found;
    document.title = `${titleOf(memory).slice(0, 80)} · claude-mem`;
    anew(main, page(memory, origin, after));
  }
  async function after(gone) {
    if (signal.aborted) return; // undone from another page
    if (gone === "session") go("#/projects");
    else if (gone === true) go(memory.session_id ? sessionLink(memory.session_id) : "#/");
    else await load().catch(showError);
  }
  await load();
  const isOne = () => memory.kind === "observation";
  bind(
    {
      e: () => {
        if (!isOurs(memory)) return false;
        edit(memory, after);
      },
      p: () => {
        if (!isOne()) return false;
        actions.pin([memory.ref], !memory.pinned, after);
      },
      w: () => {
        if (!isOne()) return false;
        actions.wrong([memory.ref], !memory.wrong, after);
      },
      "#": () => {
        actions.forget([memory.ref], after);
      },
    },
    signal,
  );
  on(
    "changed",
    (event) => {
      if (event.what === "all" || (event.refs || []).map(String).includes(memory.ref)) load().catch(showError);
    },
    signal,
  );
}

function page(memory, origin, after) {
  return [
    h(
      "div",
      { class: "head" },
      h(
        "div",
        null,
        h("div", { class: "chips" }, chip(memory), marks(memory)),
        h("h1", { tabindex: -1, class: isGone(memory) ? "gone" : null }, titleOf(memory)),
        memory.subtitle && h("p", null, memory.subtitle),
        h(
          "p",
          { class: "meta" },
          h("span", { class: "mono" }, `#${memory.ref}`),
          when(memory.created_at_epoch),
          memory.project && h("a", { href: projectLink(memory.project) }, leaf(memory.project)),
          memory.session_id &&
            h("a", { href: sessionLink(memory.session_id, memory.ref) }, `session ${brief(memory.session_id)}`),
          memory.edited_at_epoch && h("span", null, "edited"),
        ),
      ),
      buttons(memory, after),
    ),
    h("div", { class: "split" }, h("div", null, body(memory)), h("aside", null, provenance(memory, origin, after))),
  ];
}

// Only its author may edit it.
const isOurs = (memory) => memory.kind === "observation" && !memory.author;

function buttons(memory, after) {
  const one = memory.kind === "observation";
  return h(
    "div",
    { class: "bar", role: "group", "aria-label": "Actions" },
    isOurs(memory) && h("button", { onclick: () => edit(memory, after), "aria-keyshortcuts": "e" }, "Edit"),
    one &&
      h(
        "button",
        {
          "aria-pressed": String(Boolean(memory.pinned)),
          onclick: () => actions.pin([memory.ref], !memory.pinned, after),
          "aria-keyshortcuts": "p",
        },
        memory.pinned ? "Pinned" : "Pin",
      ),
    one &&
      h(
        "button",
        {
          "aria-pressed": String(Boolean(memory.wrong)),
          onclick: () => actions.wrong([memory.ref], !memory.wrong, after),
          "aria-keyshortcuts": "w",
        },
        memory.wrong ? "Marked wrong" : "Mark wrong",
      ),
    h(
      "button",
      { class: "grave", onclick: () => actions.forget([memory.ref], after), "aria-keyshortcuts": "#" },
      "Forget",
    ),
  );
}

function provenance(memory, origin, after) {
  const rows = [
    ["Branch", memory.branch],
    ["Commit", memory.commit_sha?.slice(0, 12)],
    ["Author", memory.author],
    ["Agent", agentOf(memory.client)],
    ["Observer", memory.provider],
    ["Prompt", memory.prompt_number && `no. ${memory.prompt_number}`],
    ["Created", moment(memory.created_at_epoch)],
    ["Size", `${number(memory.tokens)} tokens`],
  ];
  const listed = (label, results, extra) =>
    results?.length > 0 && [
      label && h("h3", null, label),
      folded(results, FEW, (some) =>
        h(
          "ul",
          { class: "plain" },
          some.map((each) =>
            h("li", null, h("a", { class: "title", href: memoryLink(each) }, titleOf(each)), extra?.(each)),
          ),
        ),
      ),
    ];
  const same = (each) =>
    isOurs(memory) &&
    isOurs(each) &&
    h("div", null, h("button", { onclick: () => actions.mergeInto(memory.ref, each.ref, after) }, "Merge into this"));
  return h(
    "section",
    { class: "panel" },
    h("h2", null, "Origin"),
    h(
      "table",
      null,
      h(
        "tbody",
        null,
        rows
          .filter(([, value]) => value)
          .map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, value))),
      ),
    ),
    origin && [
      listed("Prompt", origin.prompt ? [origin.prompt] : []),
      origin.tool_uses?.length > 0 &&
        h("details", null, h("summary", null, many(origin.tool_uses.length, "tool use")), listed("", origin.tool_uses)),
      listed("Replaces", origin.supersedes),
      listed("Replaced by", origin.superseded_by ? [origin.superseded_by] : []),
      listed("Possible duplicates", origin.duplicates, same),
      h("h3", null, "Injected into sessions"),
      origin.injected?.length
        ? [
            h(
              "p",
              { class: "meta" },
              `${many(origin.injected_times ?? origin.injected.length, "time")}${origin.injected.length > 5 ? "; the latest:" : ""}`,
            ),
            h(
              "ul",
              { class: "plain" },
              origin.injected
                .slice(0, 5)
                .map((each) =>
                  h(
                    "li",
                    { class: "meta" },
                    h("a", { href: sessionLink(each.session_id) }, brief(each.session_id)),
                    h("span", null, occasion(each.event)),
                    h("span", null, moment(Date.parse(each.at))),
                  ),
                ),
            ),
          ]
        : h("p", { class: "meta" }, "Not yet."),
    ],
  );
}
