// What the next session would be told, and what a prompt would bring up; with the settings that change it.

import { h, labelled, put } from "../dom.js";
import { get, isAbort, post } from "../api.js";
import { on } from "../stream.js";
import { projectOptions } from "../choices.js";
import { memoryLink } from "../router.js";
import { toast } from "../toast.js";
import { titleOf } from "../row.js";
import { n, table } from "../table.js";
import { NEXT_START, many, number } from "../words.js";

const SETTINGS = [
  ["context_characters", "CLAUDE_MEM_CONTEXT_CHARACTERS", "Characters at a session's start", 9900],
  ["context_tokens", "CLAUDE_MEM_CONTEXT_TOKENS", "Tokens at a session's start, about", 10000],
  ["prompt_characters", "CLAUDE_MEM_PROMPT_CHARACTERS", "Characters for a prompt", 9900],
];

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
  const fields = Object.fromEntries(
    SETTINGS.map(([name, , , most]) => [
      name,
      h("input", {
        id: `set-${name}`,
        type: "number",
        min: 0,
        max: most,
        step: 100,
        oninput: () => {
          touched = true;
          save.disabled = false;
          soon();
        },
      }),
    ]),
  );
  const save = h("button", { class: "main", disabled: true, onclick: keep }, "Keep these settings");
  const start = h("section", null),
    answered = h("section", null),
    problem = h("p", { class: "wrongly", role: "alert" });
  let asking = new AbortController(),
    timer = 0,
    touched = false;
  const inForce = {};

  put(
    main,
    h("h1", { tabindex: -1 }, "Context"),
    h("p", { class: "meta" }, "Exactly what a new session would be told. Nothing is recorded by looking."),
    h(
      "div",
      { class: "split" },
      h(
        "div",
        null,
        h("div", { class: "filters" }, labelled("Project", project)),
        start,
        h("h2", null, h("label", { for: "for-prompt" }, "For a prompt")),
        prompt,
        answered,
      ),
      h(
        "aside",
        { class: "panel" },
        h("h2", null, "What decides it"),
        SETTINGS.map(([name, , label]) =>
          h("div", { class: "field" }, h("label", { for: `set-${name}` }, label), fields[name]),
        ),
        problem,
        h("div", { class: "bar" }, save),
        h("p", { class: "meta" }, "The preview follows at once; sessions only once they are kept. 0: nothing is told."),
      ),
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
    asking = new AbortController();
    const changed = Object.fromEntries(
      touched
        ? SETTINGS.map(([name]) => [name, fields[name].value === "" ? undefined : Number(fields[name].value)])
        : [],
    );
    try {
      const told = await post(
        "/api/context/preview",
        { project: project.value, prompt: prompt.value.trim() || undefined, ...changed },
        asking.signal,
      );
      problem.textContent = "";
      if (!touched) for (const [name] of SETTINGS) fields[name].value = inForce[name] = String(told.settings[name]);
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
            ]
          : [h("h2", null, "The session's start"), h("p", { class: "meta" }, "It would be told nothing.")],
      );
      put(answered, told.prompt && hits(told.prompt));
    } catch (error) {
      if (!isAbort(error)) problem.textContent = error.message;
    }
  }

  async function keep() {
    // What was left as it is, or empty, is not set by this.
    const changes = Object.fromEntries(
      SETTINGS.filter(([name]) => !["", inForce[name]].includes(fields[name].value)).map(([name, key]) => [
        key,
        Number(fields[name].value),
      ]),
    );
    if (!Object.keys(changes).length) return void toast("That is what holds already.");
    save.disabled = true; // until something else is typed
    try {
      const done = await post("/api/settings", { changes });
      for (const [name, key] of SETTINGS) if (key in changes) inForce[name] = String(changes[key]);
      toast(
        done.shadowed?.length
          ? `Kept, but the environment overrides ${done.shadowed.join(", ")}.`
          : done.restart
            ? `Kept. ${NEXT_START}`
            : "Kept.",
      );
    } catch (error) {
      save.disabled = false;
      problem.textContent = error.message;
    }
  }

  on("changed", () => soon(), signal);
  await ask();
}

function figures(title, told) {
  return h(
    "div",
    { class: "head told" },
    h("h2", null, title),
    h(
      "p",
      { class: "meta" },
      h("span", null, `${number(told.characters)} characters`),
      h("span", null, `about ${number(told.tokens)} tokens`),
      h("span", null, many(told.refs.length, "memory", "memories")),
    ),
  );
}

function hits(told) {
  const parts = [...new Set(told.hits.flatMap((each) => Object.keys(each.parts || {})))];
  const say = (value) => (value === undefined || value === null ? "" : Number(value).toFixed(2));
  return [
    told.text
      ? [
          figures("It would be given", told),
          h("pre", { class: "text", tabindex: 0, "aria-label": "What the prompt would be answered with" }, told.text),
        ]
      : h(
          "p",
          null,
          told.hits.some((each) => each.relevance >= told.floor)
            ? "What fits needs more room than a prompt is given."
            : "Nothing fits well enough to be told.",
        ),
    told.hits.length > 0 && [
      h("h2", null, "Why"),
      h(
        "p",
        { class: "meta" },
        `Told is what is relevant by ${told.floor} or more, and by ${100 * told.beside} % of the best or more, until the room is used up.`,
      ),
      table(
        "Score parts",
        ["Memory", "Told", ...["relevance", "score", ...parts].map(n)],
        told.hits.map((each) => [
          h("a", { class: "title", href: memoryLink(each) }, titleOf(each)),
          each.told ? "yes" : "no",
          ...[each.relevance, each.score, ...parts.map((name) => each.parts?.[name])].map(say),
        ]),
      ),
    ],
  ];
}
