// One session: its prompts and summaries, and everything that happened in it, in order, with a replay.

import { anew, h, moving, put } from "../dom.js";
import { get } from "../api.js";
import { on } from "../stream.js";
import { go, link, projectLink, rename, sessionLink } from "../router.js";
import { by, isRunning, standingOf, when } from "../row.js";
import { folded } from "../fold.js";
import { forgotten } from "../forgotten.js";
import { renewed } from "../renewed.js";
import { replay } from "../replay.js";
import { forgetSession } from "../actions.js";
import { agentOf, brief, leaf, many, span } from "../words.js";

const PARTS = [
  ["request", "Request"],
  ["investigated", "Investigated"],
  ["learned", "Learned"],
  ["completed", "Completed"],
];
const MEMORIES = ["prompt", "observation", "summary"];
const GATHER_MS = 300;

export async function show(place, main, signal) {
  const path = `/api/session/${encodeURIComponent(place.id)}`,
    hasMoved = moving(signal);
  let whole = await get(path, null, signal),
    tail = "", // where its last page begins
    timer = 0;
  const top = h("div", null, about(whole)),
    story = h("section", null);
  document.title = `${(whole.session.title || whole.session.id).slice(0, 80)} · claude-mem`;
  const scrub = replay({ signal, onopen: (ref) => rename(sessionLink(place.id, ref)) });

  function grow(more) {
    if (more.length && !scrub.list.isConnected) put(story, scrub.controls, scrub.list);
    scrub.grow(more);
  }
  // From the last page on: it has the new ones.
  async function readOn() {
    for await (const page of pages(`${path}/events`, { cursor: tail }, signal)) {
      tail = page.cursor;
      grow(page.items);
    }
  }
  async function catchUp() {
    const [is] = await Promise.all([get(path, null, signal), readOn()]);
    if (JSON.stringify(is) !== JSON.stringify(whole)) anew(top, about((whole = is)));
  }
  function soon() {
    clearTimeout(timer);
    timer = setTimeout(() => catchUp().catch(() => {}), GATHER_MS); // the next event tries again
  }
  signal.addEventListener("abort", () => clearTimeout(timer));

  put(main, top, h("h2", null, "Events, in order"), story);
  const isOurs = (memory) => memory?.session_id === whole.session.id;
  for (const kind of MEMORIES)
    on(
      `new_${kind}`,
      (event) => {
        if (!isOurs(event[kind])) return;
        grow([event[kind]]); // observed late, it may be older than what is shown
        soon();
      },
      signal,
    );
  on("session", (event) => event.session.id === whole.session.id && soon(), signal);
  on("queue", () => isRunning(whole.session) && soon(), signal); // it may be a tool use of this session
  on("reset", soon, signal);
  on(
    "changed",
    (event) => {
      if (event.what === "all") return renewAll(path, scrub, signal).then(soon, forgotten(main, "It"));
      const ours = (event.refs || []).map(String).filter((ref) => scrub.known.has(ref));
      renew(ours, scrub, signal).catch(() => {});
    },
    signal,
  );
  await readOn();
  if (!scrub.known.size) put(story, h("p", { class: "empty" }, "Nothing is stored for this session."));
  // Last: its position is an estimate until it is drawn.
  if (place.query.at) requestAnimationFrame(() => hasMoved() || scrub.reveal(place.query.at));
}

// Only the changed lines, so that reading and replay are not disturbed.
async function renew(refs, scrub, signal) {
  for await (const found of renewed(refs, signal)) {
    found.results.forEach((each) => scrub.renew(each.ref, each));
    found.missing.forEach((ref) => scrub.renew(String(ref), null));
  }
}

async function renewAll(path, scrub, signal) {
  const gone = new Set([...scrub.known.values()].filter(isMemory).map((each) => each.ref));
  for await (const page of pages(`${path}/events`, { kind: MEMORIES }, signal)) {
    for (const each of page.items) {
      gone.delete(each.ref);
      if (JSON.stringify(each) !== JSON.stringify(scrub.known.get(each.ref))) scrub.renew(each.ref, each);
    }
  }
  gone.forEach((ref) => scrub.renew(ref, null));
}

const isMemory = (event) => MEMORIES.includes(event.kind) && !event.isForgotten;

const about = (whole) => [head(whole), turns(whole)];

const toProjects = () => go("#/projects");

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
        h("span", { class: "chip" }, standingOf(session)),
        session.project && h("a", { href: projectLink(session.project) }, leaf(session.project)),
        session.branch && h("span", null, session.branch),
        by(session),
        session.client && h("span", null, agentOf(session.client)),
        when(session.created_at_epoch),
        h("span", null, `lasted ${span(session.updated_at_epoch - session.created_at_epoch)}`),
        h("span", null, `${many(session.prompts, "prompt")}, ${many(session.observations, "observation")}`),
        h("span", { class: "mono" }, brief(session.id)),
      ),
    ),
    h(
      "nav",
      { class: "bar", "aria-label": "Adjacent sessions" },
      previous && h("a", { class: "button", href: sessionLink(previous.id), title: previous.title }, "← Earlier"),
      next && h("a", { class: "button", href: sessionLink(next.id), title: next.title }, "Later →"),
      h("a", { class: "button", href: link("find", "", { session: session.id }) }, "Search this session"),
      h("button", { class: "grave", onclick: () => forgetSession(session.id, toProjects) }, "Forget"),
    ),
  );
}

// All turns together: the first request, everything completed, and what is left at the end.
function turns({ session, summaries }) {
  const all = (name) => [...new Set(summaries.map((each) => each[name]).filter(Boolean))];
  const parts = [
    ...PARTS.map(([name, label]) => [label, all(name)]),
    ["Next steps", leftOpen(summaries, session.summaries)],
  ].filter(([, said]) => said.length);
  if (!parts.length) return h("p", { class: "meta" }, "No summary yet.");
  return h(
    "section",
    { class: "panel", "aria-label": "Session summary" },
    h(
      "dl",
      { class: "sum" },
      parts.map(([label, said]) => [
        h("dt", null, label),
        h("dd", null, said.length === 1 ? h("div", { class: "prose" }, said[0]) : list(said)),
      ]),
    ),
  );
}

// Open steps of an earlier turn are done by now, or repeated later: as on the project's page, only the last turn that
// has any counts. In a very long session the last turns may not be loaded.
function leftOpen(summaries, count) {
  const last = summaries.findLast((each) => each.completed || each.learned || each.next_steps);
  return last?.next_steps && summaries.length === count ? [last.next_steps] : [];
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

async function* pages(path, query, signal) {
  for (let cursor = query.cursor ?? ""; ;) {
    const page = await get(path, { limit: 200, ...query, cursor }, signal);
    yield { items: page.items, cursor };
    if (!page.next) return;
    cursor = page.next;
  }
}
