// One file: its memories across sessions, with stale ones marked.

import { anew, h } from "../dom.js";
import { get, isAbort } from "../api.js";
import { on } from "../stream.js";
import { renewed } from "../renewed.js";
import { link, projectLink, sessionLink } from "../router.js";
import { line } from "../row.js";
import { toast } from "../toast.js";
import { brief, date, leaf, many, number } from "../words.js";

const PAGE = 100;
const MOST_ASKED = 20; // sessions whose titles are requested one by one

export async function show(place, main, signal) {
  const path = place.id,
    { project } = place.query,
    titles = new Map(); // of sessions
  const listed = (query) =>
    get("/api/observations", { file: path, project, wrong: false, limit: PAGE, ...query }, signal);
  const { results } = await get("/api/file", { path, project, limit: PAGE }, signal);
  let total = results.length;
  if (total >= PAGE) total = Math.max(total, (await listed({ limit: 1, count: true })).total ?? 0);
  document.title = `${leaf(path)} · claude-mem`;
  const draw = async () => {
    await name(results, titles, project, signal);
    anew(main, page(path, project, results, total, titles, results.length < total && more));
  };
  async function more(event) {
    event.target.disabled = true;
    try {
      const known = new Set(results.map((each) => each.ref));
      const offset = results.filter((each) => each.kind === "observation").length;
      const found = (await listed({ offset })).items.filter((each) => !known.has(each.ref));
      results.push(...found);
      if (!found.length) total = results.length;
      await draw();
      main.querySelector(`[data-ref="${found[0]?.ref}"] a.title`)?.focus();
    } catch (error) {
      event.target.disabled = false;
      if (!isAbort(error)) toast(error.message);
    }
  }
  await draw();
  on("changed", (event) => renew(event).catch(() => {}), signal); // the next event tries again

  async function renew(event) {
    const named = new Set((event.refs || []).map(String));
    const refs = results.map((each) => each.ref).filter((ref) => event.what === "all" || named.has(ref));
    if (!refs.length) return;
    for await (const found of renewed(refs, signal)) {
      const now = new Map(found.results.map((each) => [each.ref, each])),
        gone = new Set(found.missing.map(String));
      const left = results.filter((each) => !gone.has(each.ref));
      total -= results.length - left.length;
      left.forEach((each) => Object.assign(each, now.get(each.ref), { snippet: each.snippet }));
      results.splice(0, results.length, ...left);
    }
    await draw();
  }
}

// The titles of the sessions that have one.
async function name(results, titles, project, signal) {
  const unknown = () => [...new Set(results.map((each) => each.session_id))].filter((id) => id && !titles.has(id));
  const learn = ({ id, title }) => titles.set(id, title);
  if (!titles.size) (await get("/api/sessions", { project, limit: 100 }, signal)).items.forEach(learn);
  const asked = unknown().slice(0, MOST_ASKED);
  const answers = await Promise.allSettled(asked.map((id) => get(`/api/session/${encodeURIComponent(id)}`, null, signal)));
  answers.forEach(({ value }) => value && learn(value.session));
}

function page(path, project, results, total, titles, more) {
  const stale = results.filter((each) => each.marks?.length).length;
  const sessions = new Map();
  for (const each of results) sessions.set(each.session_id, [...(sessions.get(each.session_id) || []), each]);
  const count = more
    ? `the newest ${number(results.length)} of ${number(total)} memories`
    : many(total, "memory", "memories");
  return [
    h(
      "div",
      { class: "head" },
      h(
        "div",
        null,
        h("h1", { tabindex: -1, class: "mono" }, path),
        h(
          "p",
          { class: "meta" },
          project && h("a", { href: projectLink(project) }, leaf(project)),
          h("span", null, `${count} in ${many(sessions.size, "session")}`),
          stale > 0 && h("span", { class: "chip mark" }, `${stale} may be stale`),
        ),
      ),
      h(
        "div",
        { class: "bar" },
        h("a", { class: "button", href: link("find", "", { file: path, project }) }, "Search this file's memories"),
      ),
    ),
    results.length
      ? [...sessions].map(([id, list]) =>
          h(
            "section",
            null,
            h(
              "h2",
              null,
              h("a", { href: sessionLink(id) }, titles.get(id) || `Session ${brief(id)}`),
              ` · ${date(list[0].created_at_epoch)}`,
            ),
            h(
              "ul",
              { class: "feed" },
              list.map((memory) =>
                h(
                  "li",
                  null,
                  line(memory, { project: false }),
                  memory.how && h("span", { class: "meta how" }, `the file was ${memory.how}`),
                ),
              ),
            ),
          ),
        )
      : h("p", { class: "empty" }, "No memories about this file."),
    more && h("div", { class: "bar" }, h("button", { onclick: more }, "Earlier")),
  ];
}
