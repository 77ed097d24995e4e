// What the next session would be told, and what a prompt would bring up; with the settings that change it.

import { h, labelled, put } from "../dom.js";
import { get, isAbort, post } from "../api.js";
import { on } from "../stream.js";
import { projectOptions } from "../choices.js";
import { projectLink } from "../router.js";
import { sizes } from "../sizes.js";
import { why } from "../why.js";
import { many, number } from "../words.js";

// Whose preview it is, by when sessions are told it.
const WHOSE = {
  now: "Exactly what is injected into a new session.",
  restart: "What is injected into a new session once the worker has restarted with the saved settings.",
  unkept: "What would be injected into a new session with these settings, which are not saved.",
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
    placeholder: "Type a prompt, for example: why did the prompt break in PowerShell?",
    oninput: () => soon(),
    value: place.query.prompt || "",
  });
  const start = h("section", null),
    answered = h("section", null),
    whose = h("p", { class: "meta" }),
    problem = h("p", { class: "wrongly", role: "alert" }),
    size = sizes(() => soon(), signal);
  let asking = new AbortController(),
    timer = 0;
  await size.load();

  put(
    main,
    h("h1", { tabindex: -1 }, "Context"),
    whose,
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
    const asked = size.asked();
    if (!asked) return; // the last preview stays
    asking = new AbortController();
    try {
      const told = await post(
        "/api/context/preview",
        { project: project.value, prompt: prompt.value.trim() || undefined, ...asked },
        asking.signal,
      );
      problem.textContent = "";
      size.hold(told.in_force);
      whose.textContent = `${WHOSE[size.from()]} This preview is not recorded.`;
      put(
        start,
        told.start.text
          ? [
              figures("At session start", told.start),
              h(
                "pre",
                { class: "text tall", tabindex: 0, "aria-label": "Injected at session start" },
                told.start.text,
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
      put(answered, told.prompt && [given(told.prompt), told.prompt.hits.length > 0 && why(told.prompt)]);
    } catch (error) {
      if (!isAbort(error)) problem.textContent = error.message;
    }
  }

  on(
    "changed",
    async (event) => {
      if (["settings", "all"].includes(event.what)) await size.load().catch(() => {}); // gone from here
      soon();
    },
    signal,
  );
  await ask();
}

function figures(title, told) {
  const sums = told.refs.filter((ref) => ref.startsWith("s")).length;
  return h(
    "div",
    { class: "head told" },
    h("h2", null, title),
    h(
      "p",
      { class: "meta" },
      h("span", null, `${number(told.characters)} characters`),
      h("span", null, `about ${number(told.tokens)} tokens`),
      told.refs.length > sums && h("span", null, many(told.refs.length - sums, "observation")),
      sums > 0 && h("span", null, many(sums, "summary", "summaries")),
    ),
  );
}

function given(told) {
  if (told.text)
    return [
      figures("Injected with this prompt", told),
      h("pre", { class: "text", tabindex: 0, "aria-label": "Injected with this prompt" }, told.text),
    ];
  const fits = told.evidence >= told.enough;
  return h(
    "p",
    null,
    fits ? "The matching memories do not fit within the limit for a prompt." : "No memory matches well enough to be injected.",
  );
}
