// One file: what was done to it and learnt about it, across sessions, with what is stale marked.

import { h, put } from "../dom.js";
import { get } from "../api.js";
import { link, projectLink, sessionLink } from "../router.js";
import { line } from "../row.js";
import { brief, date, leaf, many } from "../words.js";

export async function show(place, main, signal) {
  const path = place.id,
    { project } = place.query;
  const { results } = await get("/api/file", { path, project, limit: 100 }, signal);
  document.title = `${leaf(path)} · claude-mem`;
  const stale = results.filter((each) => each.marks?.length).length;
  const sessions = new Map();
  for (const each of results) sessions.set(each.session_id, [...(sessions.get(each.session_id) || []), each]);
  put(
    main,
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
          h("span", null, `${many(results.length, "memory", "memories")} in ${many(sessions.size, "session")}`),
          stale > 0 && h("span", { class: "chip mark" }, `${stale} may be stale`),
        ),
      ),
      h(
        "div",
        { class: "bar" },
        h("a", { class: "button", href: link("find", "", { file: path, project }) }, "Search in it"),
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
              h("a", { href: sessionLink(id) }, `Session ${brief(id)}`),
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
      : h("p", { class: "empty" }, "Nothing is remembered about this file."),
  );
}
