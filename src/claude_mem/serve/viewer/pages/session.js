// One session: what was asked and what it came to, and all that happened in it, in order, to be played again.

import { h, put } from "../dom.js";
import { get, post } from "../api.js";
import { on } from "../stream.js";
import { link, projectLink, rename, sessionLink } from "../router.js";
import { when } from "../row.js";
import { folded } from "../fold.js";
import { replay } from "../replay.js";
import { brief, leaf, many, span } from "../words.js";

const PARTS = [
  ["request", "Request"],
  ["investigated", "Investigated"],
  ["learned", "Learned"],
  ["completed", "Completed"],
  ["next_steps", "Next steps"],
];
const MOST_RENEWED = 100;

export async function show(place, main, signal) {
  const whole = await get(`/api/session/${encodeURIComponent(place.id)}`, null, signal);
  const { session } = whole;
  document.title = `${(session.title || session.id).slice(0, 80)} · claude-mem`;
  const story = h("section", null);
  put(main, head(whole), turns(whole.summaries), h("h2", null, "What happened, in order"), story);
  const events = await all(place.id, signal);
  const scrub = replay(events, {
    signal,
    at: place.query.at,
    onopen: (ref) => rename(sessionLink(place.id, ref)),
  });
  put(story, events.length ? [scrub.controls, scrub.list] : h("p", { class: "empty" }, "Nothing of it is kept."));
  scrub.ready();
  on(
    "changed",
    (event) => {
      const ours = (event.refs || []).map(String).filter((ref) => events.some((each) => each.ref === ref));
      if (ours.length) renew(ours.slice(0, MOST_RENEWED), scrub, signal).catch(() => {});
    },
    signal,
  );
}

// Only their own lines: who reads on or plays it is not disturbed.
async function renew(refs, scrub, signal) {
  const found = await post("/api/observations/batch", { ids: refs, limit: MOST_RENEWED }, signal);
  found.results.forEach((each) => scrub.renew(each.ref, each));
  found.missing.forEach((ref) => scrub.renew(String(ref), null));
}

function head({ session, previous, next }) {
  return h(
    "div",
    { class: "head" },
    h(
      "div",
      null,
      h("h1", { tabindex: -1 }, session.title || `Session ${brief(session.id)}`),
      session.subtitle && h("p", null, session.subtitle),
      h(
        "p",
        { class: "meta" },
        h("span", { class: "chip" }, session.status),
        session.project && h("a", { href: projectLink(session.project) }, leaf(session.project)),
        session.branch && h("span", null, session.branch),
        session.client && h("span", null, session.client),
        when(session.created_at_epoch),
        h("span", null, `took ${span(session.updated_at_epoch - session.created_at_epoch)}`),
        h("span", null, `${many(session.prompts, "prompt")}, ${many(session.observations, "observation")}`),
        h("span", { class: "mono" }, brief(session.id)),
      ),
    ),
    h(
      "nav",
      { class: "bar", "aria-label": "Neighbouring sessions" },
      previous && h("a", { class: "button", href: sessionLink(previous.id), title: previous.title }, "← Earlier"),
      next && h("a", { class: "button", href: sessionLink(next.id), title: next.title }, "Later →"),
      h("a", { class: "button", href: link("find", "", { session: session.id }) }, "Search it"),
    ),
  );
}

// All turns together: what was asked first, what was done on the way, what is left at the end.
function turns(summaries) {
  const parts = PARTS.map(([name, label]) => [
    label,
    [...new Set(summaries.map((each) => each[name]).filter(Boolean))],
  ]).filter(([, said]) => said.length);
  if (!parts.length) return h("p", { class: "meta" }, "It has no summary yet.");
  return h(
    "section",
    { class: "panel", "aria-label": "What it came to" },
    h(
      "dl",
      { class: "sum" },
      parts.map(([label, said]) => [
        h("dt", null, label),
        h(
          "dd",
          null,
          label === "Next steps" || said.length === 1 ? h("div", { class: "prose" }, said.at(-1)) : list(said),
        ),
      ]),
    ),
  );
}

const FEW = 3;

const list = (said) =>
  folded(said, FEW, (some) =>
    h(
      "ul",
      { class: "facts" },
      some.map((text) => h("li", null, text)),
    ),
  );

async function all(id, signal) {
  const events = [];
  for (let cursor = ""; ;) {
    const page = await get(`/api/session/${encodeURIComponent(id)}/events`, { limit: 200, cursor }, signal);
    events.push(...page.items);
    if (!page.next) return events;
    cursor = page.next;
  }
}
