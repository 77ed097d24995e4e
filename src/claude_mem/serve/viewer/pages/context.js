// A preview of what a session start and a prompt would inject, with the settings that change it.

import { h, labelled, put } from "../dom.js";
import { get, isAbort, post } from "../api.js";
import { on } from "../stream.js";
import { projectOptions } from "../choices.js";
import { projectLink } from "../router.js";
import { sizes } from "../sizes.js";
import { scoreTable } from "../score_table.js";
import { many, number } from "../words.js";

// When sessions get what the preview shows.
const WHEN = {
  now: "Exactly what is injected into a new session.",
  restart: "What is injected into a new session once the worker has restarted with the saved settings.",
  unsaved: "What would be injected into a new session with these settings, which are not saved.",
};

export async function show(place, main, signal) {
  document.title = "Context · claude-mem";
  const { items } = await get("/api/projects", { limit: 100 }, signal);
  if (!items.length)
    return void put(
      main,
      h("h1", { tabindex: -1 }, "Context"),
      h("p", { class: "empty" }, "No projects yet."),
    );
  const project = h("select", { id: "for-project", onchange: () => ask() }, projectOptions(items, place.query.project));
  const prompt = h("textarea", {
    id: "for-prompt",
    rows: 3,
    placeholder: "Type a prompt, for example: why does the login fail?",
    oninput: () => soon(),
    value: place.query.prompt || "",
  });
  const start = h("section", null),
    answered = h("section", null),
    applies = h("p", { class: "meta" }),
    problem = h("p", { class: "wrongly", role: "alert" }),
    size = sizes(() => soon(), signal);
  let asking = new AbortController(),
    timer = 0;
  await size.load();

  put(
    main,
    h("h1", { tabindex: -1 }, "Context"),
    applies,
    h(
      "div",
      { class: "split" },
      h(
        "div",
        null,
        h("div", { class: "filters" }, labelled("Project", project)),
        problem,
        start,
        h("h2", null, h("label", { for: "for-prompt" }, "With a prompt")),
        prompt,
        answered,
      ),
      size.panel,
    ),
  );

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(ask, 200);
  }
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    asking.abort();
  });

  async function ask() {
    asking.abort();
    const values = size.values();
    if (!values) return; // the last preview stays
    asking = new AbortController();
    try {
      const preview = await post(
        "/api/context/preview",
        { project: project.value, prompt: prompt.value.trim() || undefined, ...values },
        asking.signal,
      );
      problem.textContent = "";
      size.useInForce(preview.in_force);
      applies.textContent = `${WHEN[size.from()]} This preview is not recorded.`;
      put(
        start,
        preview.start.text
          ? [
              figures("At session start", preview.start),
              h(
                "pre",
                { class: "text tall", tabindex: 0, "aria-label": "Injected at session start" },
                preview.start.text,
              ),
              h(
                "p",
                { class: "soft" },
                "Includes open steps of the last few sessions only; ",
                h("a", { href: projectLink(project.value) }, "the project's page"),
                " lists older ones.",
              ),
            ]
          : [h("h2", null, "At session start"), h("p", { class: "meta" }, "Nothing would be injected.")],
      );
      put(answered, preview.prompt && [promptPreview(preview.prompt), preview.prompt.hits.length > 0 && scoreTable(preview.prompt)]);
    } catch (error) {
      if (!isAbort(error)) problem.textContent = error.message;
    }
  }

  on(
    "changed",
    async (event) => {
      if (["settings", "all"].includes(event.what)) await size.load().catch(() => {}); // the user has left the page
      soon();
    },
    signal,
  );
  await ask();
}

function figures(title, preview) {
  const sums = preview.refs.filter((ref) => ref.startsWith("s")).length;
  return h(
    "div",
    { class: "head injected" },
    h("h2", null, title),
    h(
      "p",
      { class: "meta" },
      h("span", null, `${number(preview.characters)} characters`),
      h("span", null, `about ${number(preview.tokens)} tokens`),
      preview.refs.length > sums && h("span", null, many(preview.refs.length - sums, "observation")),
      sums > 0 && h("span", null, many(sums, "summary", "summaries")),
    ),
  );
}

function promptPreview(preview) {
  if (preview.text)
    return [
      figures("Injected with this prompt", preview),
      h("pre", { class: "text", tabindex: 0, "aria-label": "Injected with this prompt" }, preview.text),
    ];
  const fits = preview.evidence >= preview.enough;
  return h(
    "p",
    null,
    fits ? "The matching memories do not fit within the limit for a prompt." : "No memory matches well enough to be injected.",
  );
}
