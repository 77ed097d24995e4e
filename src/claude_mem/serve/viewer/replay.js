// What happened in a session, in order, with a scrubber to play it again.

import { h, isTyping, put, svg } from "./dom.js";
import { bind } from "./keys.js";
import { memoryLink } from "./router.js";
import { line } from "./row.js";
import { body } from "./told.js";
import { moment, time } from "./words.js";

const PACE_MS = 700;

// onopen(ref): a line was followed, so that who comes back finds it.
export function replay(events, { signal, at, onopen }) {
  let shown = events.length,
    timer = 0;
  const items = events.map((event) => h("li", { class: event.kind, "data-ref": event.ref }, entry(event)));
  const list = h("ol", { class: "feed story", onclick: followed }, items);
  const range = h("input", {
    type: "range",
    id: "scrub",
    min: 1,
    max: events.length,
    value: String(events.length),
    oninput: () => {
      pause();
      to(Number(range.value), true);
    },
  });
  const said = h("output", { for: "scrub", class: "meta" });
  const play = h("button", { onclick: () => (timer ? pause() : start()), "aria-pressed": "false" }, "Play");
  const quiet = h("input", {
    type: "checkbox",
    id: "evidence",
    checked: true,
    onchange: () => list.classList.toggle("quiet", !quiet.checked),
  });
  const track = ticks(events, (index) => {
    pause();
    to(index + 1, true);
  });

  function followed(event) {
    const ref = event.target.closest("a.title") && event.target.closest("li").dataset.ref;
    if (ref) onopen(ref);
  }
  function to(count, follow) {
    shown = Math.max(1, Math.min(events.length, count));
    items.forEach((item, index) => {
      item.hidden = index >= shown;
      item.classList.toggle("now", index === shown - 1 && shown < events.length);
    });
    track.mark(shown);
    const event = events[shown - 1];
    range.value = String(shown);
    const text = `${shown} of ${events.length}, ${time(event.created_at_epoch)}, ${event.kind}`;
    range.setAttribute("aria-valuetext", text);
    said.textContent = text;
    if (follow) items[shown - 1].scrollIntoView({ block: "nearest" });
  }
  function start() {
    if (shown >= events.length) to(1, true);
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
    timer = setInterval(() => {
      to(shown + 1, true);
      if (shown >= events.length) pause();
    }, PACE_MS);
  }
  function pause() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
    play.setAttribute("aria-pressed", "false");
  }
  signal.addEventListener("abort", pause);
  bind(
    {
      ArrowLeft: (event) => {
        if (event.target === range) return false;
        pause();
        to(shown - 1, true);
      },
      ArrowRight: (event) => {
        if (event.target === range) return false;
        pause();
        to(shown + 1, true);
      },
    },
    signal,
  );
  const controls = h(
    "div",
    { class: "scrub panel" },
    track.element,
    h(
      "div",
      { class: "bar" },
      play,
      h("label", { for: "scrub", class: "unseen" }, "Position in the session"),
      range,
      said,
      h("span", { class: "meta far" }, quiet, h("label", { for: "evidence" }, "raw tool uses")),
    ),
  );
  return {
    controls,
    list,
    renew: (ref, event) => {
      const item = items.find((each) => each.dataset.ref === ref);
      if (item) put(item, event ? entry(event) : h("span", { class: "meta" }, "Forgotten."));
    },
    ready: () => {
      if (events.length) to(events.length, false);
      const item = items.find((each) => each.dataset.ref === at);
      // Last of all: how far down it is was a guess, until it is drawn.
      if (item)
        requestAnimationFrame(() => {
          item.scrollIntoView({ block: "center" });
          if (!isTyping(document.activeElement)) item.querySelector("a.title")?.focus({ preventScroll: true });
        });
    },
  };
}

function ticks(events, onpick) {
  const marks = events.map((event, index) =>
    svg("rect", {
      class: `tick ${event.kind}`,
      x: index,
      y: event.kind === "evidence" ? 8 : 0,
      width: 0.8,
      height: event.kind === "evidence" ? 8 : 16,
      onclick: () => onpick(index),
    }),
  );
  const cursor = svg("rect", { class: "veil", x: 0, y: 0, width: 0, height: 16 });
  const element = svg(
    "svg",
    { class: "ticks", viewBox: `0 0 ${events.length || 1} 16`, preserveAspectRatio: "none", "aria-hidden": "true" },
    marks,
    cursor,
  );
  return {
    element,
    mark: (count) => {
      cursor.setAttribute("x", count);
      cursor.setAttribute("width", Math.max(0, events.length - count));
    },
  };
}

function entry(event) {
  if (event.kind === "evidence") {
    const shell = h(
      "details",
      null,
      h(
        "summary",
        null,
        h("span", { class: "mono" }, event.title || event.tool_name),
        " ",
        h("time", { class: "when", title: moment(event.created_at_epoch) }, time(event.created_at_epoch)),
      ),
    );
    shell.addEventListener("toggle", () => {
      if (shell.open && shell.children.length === 1) shell.append(...[body(event)].flat(Infinity).filter(Boolean));
    });
    return shell;
  }
  if (event.kind === "prompt") {
    return h(
      "div",
      { class: "line prompt" },
      h("span", null, h("span", { class: "chip" }, "prompt")),
      h("a", { class: "title prose clamp", href: memoryLink(event) }, event.prompt || event.title),
      h("time", { class: "when", title: moment(event.created_at_epoch) }, time(event.created_at_epoch)),
    );
  }
  return line(event, { project: false, clock: true });
}
