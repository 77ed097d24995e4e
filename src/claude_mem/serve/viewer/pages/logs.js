// The worker's log, live, and the length of its queue over the last day.

import { h, labelled, put } from "../dom.js";
import { get, isAbort } from "../api.js";
import { bars } from "../plot.js";
import { many } from "../words.js";

const MOST = 2000,
  OFTEN = 2000,
  STEP_MS = 30 * 60 * 1000,
  STEPS = 48;
const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"];

export async function show(place, main, signal) {
  document.title = "Logs · claude-mem";
  let next = "",
    round = 0,
    timer = 0;
  const level = h(
    "select",
    { id: "log-level", onchange: begin },
    LEVELS.map((each) => h("option", { value: each, selected: each === (place.query.level || "INFO") }, each)),
  );
  const word = h("input", {
    id: "log-word",
    type: "search",
    placeholder: "any text",
    oninput: () => {
      [...lines.children].forEach(sift);
      describe();
    },
  });
  const follow = h("input", { id: "log-follow", type: "checkbox", checked: true });
  const lines = h("ol", { class: "log", tabindex: 0, "aria-label": "Log, newest last" });
  const problem = h("p", { class: "wrongly", role: "alert" });
  const note = h("p", { class: "meta", role: "status" });
  const queue = h("section", { "aria-label": "Queue" });
  put(
    main,
    h(
      "div",
      { class: "head" },
      h(
        "div",
        null,
        h("h1", { tabindex: -1 }, "Logs"),
        h("p", { class: "meta" }, "The worker's log. It does not contain memories."),
      ),
      h(
        "div",
        { class: "filters" },
        labelled("Level", level),
        labelled("Contains", word),
        h("span", { class: "across" }, follow, h("label", { for: "log-follow" }, "Follow")),
      ),
    ),
    problem,
    queue,
    note,
    lines,
  );

  function sift(line) {
    line.hidden = word.value !== "" && !line.textContent.toLowerCase().includes(word.value.toLowerCase());
  }
  // Explains an empty list, without repeating itself to a screen reader.
  function describe() {
    lines.hidden = !lines.querySelector("li:not([hidden])");
    const text = [
      lines.hidden && (lines.firstChild ? `No lines contain “${word.value}”.` : `No lines at level ${level.value} or above.`),
      level.value === "DEBUG" &&
        !lines.querySelector(".debug") &&
        "The worker writes DEBUG lines only if CLAUDE_MEM_LOG_LEVEL in the settings is DEBUG.",
    ];
    const said = text.filter(Boolean).join(" ");
    if (note.textContent !== said) note.textContent = said;
  }
  async function begin() {
    round += 1;
    next = "";
    put(lines);
    note.textContent = "";
    await look(round);
  }
  async function look(mine) {
    clearTimeout(timer);
    try {
      const found = document.hidden
        ? null
        : await get("/api/logs", { level: level.value, after: next, limit: 500 }, signal);
      if (mine !== round) return;
      problem.textContent = "";
      if (found) show(found);
    } catch (error) {
      if (mine !== round || isAbort(error) || error.status === 401) return;
      problem.textContent = error.message;
    }
    if (!signal.aborted) timer = setTimeout(() => look(mine), OFTEN);
  }
  function show(found) {
    next = found.next || next;
    for (const each of found.lines) {
      const line = h(
        "li",
        { class: each.level?.toLowerCase() },
        h("span", { class: "when" }, each.at),
        " ",
        h("span", { class: "level" }, each.level),
        " ",
        each.logger && h("span", { class: "when" }, `${each.logger} `),
        each.text,
      );
      sift(line);
      lines.append(line);
    }
    while (lines.children.length > MOST) lines.firstChild.remove();
    describe();
    if (follow.checked && found.lines.length) lines.scrollTop = lines.scrollHeight;
  }
  signal.addEventListener("abort", () => clearTimeout(timer));
  get("/api/queue", { limit: 1 }, signal)
    .then((found) => put(queue, lengths(found, signal)))
    .catch(() => {}); // the log is more important
  await begin();
}

const clock = (at) => new Date(at).toTimeString().slice(0, 5);

// The longest queue of each half hour; 0 where no worker ran.
function lengths({ history, alert }, signal) {
  const end = Math.ceil(Date.now() / STEP_MS) * STEP_MS,
    most = new Map();
  for (const each of history.samples) {
    const at = each.at - (each.at % STEP_MS);
    most.set(at, Math.max(most.get(at) ?? 0, each.waiting));
  }
  const days = Array.from({ length: STEPS }, (_, index) => end - (STEPS - index) * STEP_MS).map((at) => ({
    day: clock(at),
    values: [most.get(at) ?? 0],
  }));
  const since = history.since && history.since > end - STEPS * STEP_MS + STEP_MS ? `, since ${clock(history.since)}` : "";
  const longest = Math.max(0, ...most.values());
  return [
    alert && h("p", { class: "wrongly", role: "alert" }, alert),
    bars({
      label: `Queue over the last day${since}: at most ${many(longest, "event")} waiting`,
      days,
      series: [{ name: "waiting", class: "one" }],
      say: (value) => String(Math.round(value * 10) / 10),
      tick: (each) => each.day,
      signal,
    }),
  ];
}
