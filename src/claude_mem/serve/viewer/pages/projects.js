// Every project that has a memory.

import { h, put } from "../dom.js";
import { get } from "../api.js";
import { projectId, distinctName } from "../choices.js";
import { projectLink } from "../router.js";
import { when } from "../row.js";
import { n, table } from "../table.js";
import { number } from "../words.js";

export async function show(place, main, signal) {
  document.title = "Projects · claude-mem";
  const items = [];
  for (let offset = 0; ; offset += 100) {
    const page = await get("/api/projects", { limit: 100, offset }, signal);
    items.push(...page.items);
    if (!page.hasMore) break;
  }
  put(
    main,
    h("h1", { tabindex: -1 }, "Projects"),
    items.length
      ? table(
          "Projects",
          ["Project", n("Sessions"), n("Observations"), "Last"],
          items.map((each) => [
            [
              h("a", { class: "title", href: projectLink(projectId(each, items)) }, distinctName(each, items)),
              each.root && h("div", { class: "soft mono folder", title: each.root }, each.root),
            ],
            number(each.sessions),
            number(each.observations),
            each.last_at_epoch ? when(each.last_at_epoch) : "never",
          ]),
        )
      : h("p", { class: "empty" }, "No projects yet."),
  );
}
