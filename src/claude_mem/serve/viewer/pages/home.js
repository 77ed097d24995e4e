// Where you left off: the projects with the latest work, what is open in each, and what happened last.

import { anew, h } from "../dom.js";
import { get, isAbort } from "../api.js";
import { on } from "../stream.js";
import { toast } from "../toast.js";
import { projectId, distinctName } from "../choices.js";
import { link, memoryLink, projectLink, sessionLink } from "../router.js";
import { titleOf, when } from "../row.js";
import { many } from "../words.js";

const PROJECTS = 6;
const FEW = 3;
const GATHER_MS = 500;

export async function show(place, main, signal) {
  document.title = "Home · claude-mem";
  let timer = 0;
  async function load() {
    const { items, hasMore } = await get("/api/projects", { limit: 100 }, signal);
    const latest = items.filter((each) => each.last_at_epoch).sort((a, b) => b.last_at_epoch - a.last_at_epoch);
    const some = latest.slice(0, PROJECTS);
    const ask = (path, more) =>
      Promise.all(some.map((each) => get(path, { project: projectId(each, items), ...more }, signal)));
    const [known, found] = await Promise.all([
      ask("/api/project", { days: 1 }),
      ask("/api/search", { kind: "observation", limit: FEW }),
    ]);
    const cards = some.map((each, at) =>
      card(distinctName(each, items), projectId(each, items), each, known[at].next_steps, found[at].results),
    );
    anew(
      main,
      h("h1", { tabindex: -1 }, "Where you left off"),
      cards.length ? h("div", { class: "cards" }, cards) : empty(),
      (hasMore || items.length > some.length) && h("p", null, h("a", { href: "#/projects" }, "All projects")),
    );
  }
  await load();
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => load().catch((error) => isAbort(error) || toast(error.message)), GATHER_MS);
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  for (const event of ["new_summary", "new_observation", "reset"]) on(event, soon, signal);
  on("changed", (event) => !["settings", "recording"].includes(event.what) && soon(), signal);
}

const empty = () =>
  h(
    "div",
    { class: "empty" },
    h("p", null, "No memories yet. They appear here as you work with your coding agent."),
    h("p", null, "To import past sessions, run in a terminal: ", h("code", null, "claude-mem backfill")),
  );

function card(name, id, project, steps, latest) {
  return h(
    "section",
    { class: "panel card" },
    h("h2", null, h("a", { href: projectLink(id) }, name)),
    h(
      "p",
      { class: "meta" },
      when(project.last_at_epoch),
      h("span", null, many(project.sessions, "session")),
      h("a", { href: link("find", "", { project: id }) }, many(project.observations, "observation")),
    ),
    list("Open", steps, (step) => [
      h("a", { href: sessionLink(step.session_id) }, step.text),
      " ",
      when(Date.parse(step.at)),
    ]),
    list("Latest work", latest, (memory) => [
      h("a", { class: "title", href: memoryLink(memory) }, titleOf(memory)),
      " ",
      when(memory.created_at_epoch),
    ]),
  );
}

const list = (label, items, draw) =>
  items?.length > 0 && [
    h("h3", null, label),
    h(
      "ul",
      { class: "plain" },
      items.slice(0, FEW).map((each) => h("li", null, draw(each))),
    ),
  ];
