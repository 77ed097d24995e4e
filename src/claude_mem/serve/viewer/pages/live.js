// What happens, as it happens.

import { anew, h, labelled, put } from "../dom.js";
import { get, isAbort } from "../api.js";
import { on } from "../stream.js";
import { toast } from "../toast.js";
import { age, look, waiting, watch } from "../state.js";
import { renewed } from "../renewed.js";
import { isRunning, line, standingOf, when } from "../row.js";
import { link, projectLink, sessionLink } from "../router.js";
import { leaf, many, money, number, short, span } from "../words.js";

const MOST = 300; // on the page; the rest is in Find
const FIRST = 15; // the first request is small
const MORE = 50;
const SESSIONS = 8;

export async function show(place, main, signal) {
  document.title = "Live · claude-mem";
  const feed = h("ol", { class: "feed", "aria-label": "Activity, newest first" });
  const sessions = h("ul", { class: "plain" });
  const figures = h("div", { class: "panel observer", role: "group", "aria-label": "The observer" });
  const chosen = h(
    "select",
    { id: "of-project", onchange: () => refill() },
    h("option", { value: "" }, "All projects"),
  );
  const known = new Map(); // sessions by id
  let asked = 0,
    meanwhile = null, // what arrives while the list is loading
    next = null, // the cursor of earlier ones
    isCut = false; // the page is full: memories between those shown and earlier ones were removed
  const earlier = h("button", { hidden: true, onclick: () => more().catch(said) }, "Earlier");
  const rest = h("a", { hidden: true }, "Show older ones in Find");

  // Projects with the same name are one choice here, because events have only the project's name.
  const asks = () => (shared(chosen) ? "" : chosen.value);
  const wanted = (memory) => !chosen.value || memory.project === chosen.value;
  const item = (memory, isNew) => h("li", { class: isNew ? "new" : null, "data-ref": memory.ref }, line(memory));

  async function fill() {
    const mine = ++asked,
      arrived = (meanwhile = []);
    const found = await get("/api/search", { limit: FIRST, project: asks() }, signal);
    if (mine !== asked) return;
    const { next: from } = found,
      results = found.results.filter(wanted);
    put(
      feed,
      results.length
        ? results.map((memory) => item(memory, false))
        : h("li", { class: "empty" }, [
            h("p", null, "No memories yet. They appear here as you work with your coding agent."),
            h("p", null, "To import past sessions, run in a terminal: ", h("code", null, "claude-mem backfill")),
          ]),
    );
    isCut = false;
    goesOn(from);
    meanwhile = null;
    arrived.forEach(arrive);
  }
  const said = (error) => isAbort(error) || toast(error.message);
  const refill = () => fill().catch(said);

  function goesOn(from) {
    next = from;
    const isFull = isCut || feed.children.length >= MOST;
    earlier.hidden = !next || isFull;
    rest.hidden = !isCut && !(next && isFull);
    rest.setAttribute("href", link("find", "", { project: chosen.value }));
  }

  async function more() {
    const mine = asked;
    earlier.disabled = true;
    try {
      const found = await get("/api/search", { limit: MORE, cursor: next, project: asks() }, signal);
      if (mine !== asked || isCut) return;
      const fresh = found.results.filter((memory) => wanted(memory) && !shown(memory.ref));
      const unseen = fresh.map((memory) => item(memory, false));
      feed.append(...unseen);
      goesOn(found.next);
      unseen[0]?.querySelector("a.title").focus(); // the button may be hidden; focus continues here
    } finally {
      earlier.disabled = false;
    }
  }
  const shown = (ref) => feed.querySelector(`li[data-ref="${CSS.escape(ref)}"]`);

  function arrive(memory) {
    if (!memory || !wanted(memory)) return;
    meanwhile?.push(memory);
    feed.querySelector("li.empty")?.remove();
    shown(memory.ref)?.remove(); // sent twice after a crash: shown once
    feed.prepend(item(memory, true));
    if (feed.children.length <= MOST) return;
    while (feed.children.length > MOST) feed.lastChild.remove();
    isCut = true;
    goesOn(next);
  }

  function stand(session, isNews) {
    learn(chosen, session.project);
    const isOther = isNews && known.get(session.id)?.status !== session.status;
    known.set(session.id, session);
    list(isOther ? session : null);
  }

  function list(news) {
    const all = [...known.values()].sort((a, b) => b.updated_at_epoch - a.updated_at_epoch).slice(0, SESSIONS);
    anew(
      sessions,
      all.map((each) =>
        h(
          "li",
          { class: each === news ? "new" : null },
          h(
            "span",
            { class: "meta" },
            isRunning(each) && h("span", { class: "dot" }),
            h("span", null, standingOf(each)),
            when(each.updated_at_epoch),
            each.project && h("a", { href: projectLink(each.project) }, leaf(each.project)),
          ),
          h("a", { class: "title", href: sessionLink(each.id) }, each.title || each.id),
        ),
      ),
    );
  }

  put(
    main,
    h(
      "div",
      { class: "head" },
      h(
        "div",
        null,
        h("h1", { tabindex: -1 }, "Live"),
        h("p", { class: "meta" }, "Prompts, observations and summaries as they come in."),
      ),
      h("div", { class: "filters" }, labelled("Project", chosen)),
    ),
    h(
      "div",
      { class: "split" },
      h("div", null, feed, h("div", { class: "bar" }, earlier, rest)),
      h("aside", null, figures, h("div", { class: "panel" }, h("h2", null, "Sessions"), sessions)),
    ),
  );

  on(
    "initial",
    (event) => {
      learnAll(chosen, event.projects);
      // Of the sessions not shown before, only the later ones began during the gap.
      const last = known.size ? Math.max(...[...known.values()].map((each) => each.updated_at_epoch)) : Infinity;
      const isNews = (each) => known.has(each.id) || each.updated_at_epoch > last;
      [...event.sessions].reverse().forEach((each) => stand(each, isNews(each)));
    },
    signal,
  );
  on("new_prompt", (event) => arrive(event.prompt), signal);
  on("new_observation", (event) => arrive(event.observation), signal);
  on("new_summary", (event) => arrive(event.summary), signal);
  on("session", (event) => stand(event.session, true), signal);
  on("reset", refill, signal);
  on(
    "changed",
    (event) => {
      const all = [...feed.querySelectorAll("li[data-ref]")].map((each) => each.dataset.ref);
      renew(event.what === "all" ? all : (event.refs || []).map(String).filter(shown)).catch(() => {});
      if (event.what === "all") relist().catch(() => {}); // the next event tries again
    },
    signal,
  );

  // Removes deleted sessions from the list.
  async function relist() {
    const before = [...known.keys()],
      { items } = await get("/api/sessions", { limit: SESSIONS }, signal),
      there = new Set(items.map((each) => each.id));
    before.filter((id) => !there.has(id)).forEach((id) => known.delete(id));
    items.filter((each) => !known.has(each.id)).forEach((each) => known.set(each.id, each)); // what the stream sent is newer
    list(null);
  }

  async function renew(refs) {
    for await (const found of renewed(refs, signal)) {
      for (const each of found.results) {
        const place = shown(each.ref);
        if (place) anew(place, line(each));
      }
      found.missing.forEach((ref) => shown(String(ref))?.remove());
    }
  }

  watch((state) => put(figures, observerPanel(state)), signal);
  const ticking = setInterval(() => look(), 5000); // the oldest event's age grows
  signal.addEventListener("abort", () => clearInterval(ticking));
  const [latest] = await Promise.all([
    get("/api/sessions", { limit: SESSIONS }, signal),
    names(chosen, signal),
    fill(),
  ]);
  const unknown = latest.items.filter((each) => !known.has(each.id)); // what the stream sent since is newer
  unknown.reverse().forEach((each) => stand(each, false));
}

async function names(chosen, signal) {
  const { items } = await get("/api/projects", { limit: 100 }, signal);
  learnAll(chosen, items);
}

function learnAll(chosen, projects) {
  for (const { name } of projects) {
    learn(chosen, name);
    const several = projects.filter((each) => each.name === name).length > 1;
    for (const option of chosen.options) if (option.value === name) option.dataset.shared = several ? "yes" : "";
  }
}

const shared = (chosen) => chosen.selectedOptions[0]?.dataset.shared === "yes";

function learn(chosen, name) {
  if (name && ![...chosen.options].some((option) => option.value === name))
    chosen.append(h("option", { value: name }, leaf(name)));
}

function observerPanel(state) {
  const queue = state.queue || {},
    observer = state.observer || {},
    count = waiting(queue);
  return [
    h("h2", null, "Observer"),
    h(
      "p",
      { class: "meta working" },
      state.working || queue.leased
        ? [h("span", { class: "spin" }), "working"]
        : [h("span", { class: "dot off" }), count ? "waiting for the turn to end" : "idle"],
    ),
    h(
      "table",
      null,
      h(
        "tbody",
        null,
        row("Waiting", count ? `${many(count, "event")}, the oldest ${span(age(queue))}` : "nothing"),
        queue.parked > 0 && row("Parked", many(queue.parked, "event")),
        row("Done", number(queue.done)),
        observer.provider && row("Provider", by(observer)),
        observer.spentToday &&
          row("Today", `${short(observer.spentToday.tokens)} tokens, ${money(observer.spentToday.usd)}`),
      ),
    ),
  ];
}

function by({ provider, why, spentUp }) {
  const [who, because] = spentUp ? ["offline", `because the budget for ${provider} is used up`] : [provider, why];
  return because ? [who, h("br"), h("span", { class: "meta" }, because)] : who;
}

const row = (name, value) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, value));
