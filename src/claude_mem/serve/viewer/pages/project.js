// One project: its year, its files, open steps, and pinned memories.

import { anew, h } from "../dom.js";
import { get } from "../api.js";
import { on } from "../stream.js";
import { fileLink, link, projectLink, sessionLink } from "../router.js";
import { line, standingOf, when } from "../row.js";
import { folded } from "../fold.js";
import { forgotten } from "../forgotten.js";
import { year } from "../heat.js";
import { leaf, many, number } from "../words.js";

const FEW = 12;

export async function show(place, main, signal) {
  let latest = null;
  async function load() {
    latest?.abort();
    latest = new AbortController();
    const until = AbortSignal.any([signal, latest.signal]);
    const known = await get("/api/project", { project: place.id, days: 371 }, until).catch((error) => {
      if (error.projects) return error;
      throw error.field === "project" ? Object.assign(error, { status: 404 }) : error; // there is no such page
    });
    if (known.projects) choose(place, main, known.projects);
    else draw(place, main, known, until);
  }
  await load();
  const showError = forgotten(main, leaf(place.id));
  on("changed", (event) => !["settings", "recording"].includes(event.what) && load().catch(showError), signal);
}

function choose(place, main, projects) {
  document.title = `${leaf(place.id)} · claude-mem`;
  anew(
    main,
    h("h1", { tabindex: -1 }, leaf(place.id)),
    h("p", null, `${many(projects.length, "project")} have this name:`),
    h(
      "ul",
      { class: "plain" },
      projects.map(({ key }) => h("li", null, h("a", { class: "mono", href: projectLink(key) }, key))),
    ),
  );
}

function draw(place, main, known, signal) {
  const { project } = known;
  document.title = `${leaf(project.name)} · claude-mem`;
  const inProject = (more) => link("find", "", { project: place.id, ...more });
  const types = Object.entries(known.types || {}).sort(([, a], [, b]) => b - a);
  anew(
    main,
    h(
      "div",
      { class: "head" },
      h(
        "div",
        null,
        h("h1", { tabindex: -1 }, leaf(project.name)),
        h(
          "p",
          { class: "meta" },
          project.root && h("span", { class: "mono" }, project.root),
          h("span", null, `${many(project.sessions, "session")}, ${many(project.observations, "observation")}`),
        ),
        types.length > 0 &&
          h(
            "p",
            { class: "chips" },
            types.map(([type, count]) =>
              h("a", { class: `chip ${type}`, href: inProject({ type }) }, `${type} ${number(count)}`),
            ),
          ),
      ),
      h(
        "div",
        { class: "bar" },
        h("a", { class: "button", href: inProject() }, "Search this project"),
        h("a", { class: "button", href: link("context", "", { project: place.id }) }, "What is injected"),
      ),
    ),
    h(
      "section",
      { class: "panel" },
      h("h2", null, "The last year"),
      h("p", { class: "meta" }, "Days in this machine's time zone."),
      year(known.activity, (day) => inProject({ since: day, until: day }), signal),
    ),
    h(
      "div",
      { class: "split" },
      h(
        "div",
        null,
        section(
          "Open next steps",
          known.next_steps,
          (step) =>
            h(
              "li",
              null,
              h("div", { class: "prose" }, step.text),
              h(
                "div",
                { class: "meta" },
                h("a", { href: sessionLink(step.session_id) }, "the session"),
                when(Date.parse(step.at)),
              ),
            ),
          "No open steps from recent sessions.",
        ),
        section(
          "Pinned",
          known.pinned,
          (memory) => h("li", null, line(memory, { project: false })),
          "Nothing is pinned. Pinned memories are injected first.",
        ),
        section(
          "Latest sessions",
          known.sessions,
          (session) =>
            h(
              "li",
              null,
              h("a", { class: "title", href: sessionLink(session.id) }, session.title || session.id),
              h(
                "div",
                { class: "meta" },
                h("span", null, standingOf(session)),
                session.branch && h("span", null, session.branch),
                h("span", null, many(session.observations, "observation")),
                when(session.updated_at_epoch),
              ),
            ),
          "None yet.",
        ),
      ),
      h(
        "aside",
        { class: "panel" },
        h("h2", null, "Most changed files"),
        known.files.length
          ? folded(known.files, FEW, (some) =>
              h(
                "ul",
                { class: "plain files" },
                some.map((file) =>
                  h(
                    "li",
                    null,
                    h("a", { class: "mono", href: fileLink(file.path, place.id), title: file.path }, leaf(file.path)),
                    h(
                      "div",
                      { class: "meta" },
                      h("span", null, many(file.changes, "change")),
                      when(file.last_at_epoch),
                    ),
                    h("div", { class: "soft folder" }, folder(file.path)),
                  ),
                ),
              ),
            )
          : h("p", { class: "meta" }, "No files changed yet."),
      ),
    ),
  );
}

const folder = (path) => path.slice(0, Math.max(0, path.length - leaf(path).length - 1));

function section(title, list, draw, none) {
  return h(
    "section",
    null,
    h("h2", null, title),
    list?.length ? h("ul", { class: "feed" }, list.map(draw)) : h("p", { class: "meta" }, none),
  );
}
