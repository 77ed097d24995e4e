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
  now: "Exactly what a new session would be told.",
  restart: "What a new session is told once the worker has started again, with the settings that are kept.",
  unkept: "What a new session would be told with these settings, which are not kept.",
};

export async function show(place, main, signal) {
  document.title = "Context · claude-mem";
  const { items } = await get("/api/projects", { limit: 100 }, signal);
  if (!items.length)
    return void put(
      main,
      h("h1", { tabindex: -1 }, "Context"),
      h("p", { class: "empty" }, "No project has a memory yet."),
    );
  const project = h("select", { id: "for-project", onchange: () => ask() }, projectOptions(items, place.query.project));
  const prompt = h("textarea", {
    id: "for-prompt",
    rows: 3,
    placeholder: "What would you type? For example: why did the prompt break in PowerShell?",
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
        h("h2", null, h("label", { for: "for-prompt" }, "For a prompt")),
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
      whose.textContent = `${WHOSE[size.from()]} Nothing is recorded by looking.`;
      put(
        start,
        told.start.text
          ? [
              figures("The session's start", told.start),
              h(
                "pre",
                { class: "text tall", tabindex: 0, "aria-label": "What a session is told at its start" },
                told.start.text,
              ),
              h(
                "p",
                { class: "soft" },
                "What the last few sessions left open is told; ",
                h("a", { href: projectLink(project.value) }, "the project's page"),
                " goes further back.",
              ),
            ]
          : [h("h2", null, "The session's start"), h("p", { class: "meta" }, "It would be told nothing.")],
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
      figures("It would be given", told),
      h("pre", { class: "text", tabindex: 0, "aria-label": "What the prompt would be answered with" }, told.text),
    ];
  const fits = told.hits.some((each) => each.relevance >= told.floor);
  return h(
    "p",
    null,
    fits ? "What fits needs more room than a prompt is given." : "Nothing fits well enough to be told.",
  );
}
