// Every project that has a memory.

import { h, put } from "../dom.js";
import { get } from "../api.js";
import { projectLink } from "../router.js";
import { when } from "../row.js";
import { leaf, number } from "../words.js";

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
      ? h(
          "div",
          { class: "wide" },
          h(
            "table",
            null,
            h(
              "thead",
              null,
              h(
                "tr",
                null,
                h("th", { scope: "col" }, "Project"),
                h("th", { scope: "col", class: "n" }, "Sessions"),
                h("th", { scope: "col", class: "n" }, "Observations"),
                h("th", { scope: "col" }, "Last"),
              ),
            ),
            h(
              "tbody",
              null,
              items.map((each) =>
                h(
                  "tr",
                  null,
                  h(
                    "td",
                    null,
                    h("a", { class: "title", href: projectLink(each.name) }, leaf(each.name)),
                    each.root && h("div", { class: "meta mono" }, each.root),
                  ),
                  h("td", { class: "n" }, number(each.sessions)),
                  h("td", { class: "n" }, number(each.observations)),
                  h("td", null, each.last_at_epoch ? when(each.last_at_epoch) : "never"),
                ),
              ),
            ),
          ),
        )
      : h("p", { class: "empty" }, "No project has a memory yet."),
  );
}
