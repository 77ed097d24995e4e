// The events of a session, in order, with a scrubber to replay them.

import { h, isTyping, svg } from "./dom.js";
import { bind } from "./keys.js";
import { memoryLink } from "./router.js";
import { kindOf, line } from "./row.js";
import { Story } from "./story.js";
import { body } from "./memory_body.js";
import { moment, time } from "./words.js";

const RAW = "raw tool uses"; // whether this browser shows raw tool uses
const PACE_MS = 700;
const CROWDED = 1000; // with more events the ticks are too thin: those of one kind are merged

// onopen(ref): a link was followed; the page returns to it on the way back.
export function replay({ signal, onopen }) {
  const events = [],
    known = new Map(), // by ref
    story = new Story({ draw: entry, signal });
  let shown = 0,
    reached = null, // the line that last had focus
    timer = 0;
  const range = h("input", {
    type: "range",
    id: "scrub",
    min: 1,
    max: 1,
    oninput: () => by(Number(range.value)),
  });
  const said = h("output", { for: "scrub", class: "meta", "aria-live": "off" });
  const play = h("button", { onclick: () => (timer ? pause() : start()), "aria-pressed": "false" }, "Play");
  const raw = h("input", {
    type: "checkbox",
    id: "evidence",
    checked: localStorage.getItem(RAW) === "shown",
    onchange: () => {
      localStorage.setItem(RAW, raw.checked ? "shown" : "folded");
      to(shown, false);
    },
  });
  const track = ticks(events, (index) => by(index + 1));
  story.element.addEventListener("click", followed);
  story.element.addEventListener("focusin", (event) => {
    reached = event.target.closest("li")?.dataset.ref ?? reached;
  });

  function followed(event) {
    const ref = event.target.closest("a.title") && event.target.closest("li").dataset.ref;
    if (ref) onopen(ref);
  }
  const lines = () => events.slice(0, shown).filter((event) => raw.checked || event.kind !== "evidence");
  // Called by the user's action.
  function by(count) {
    pause();
    to(seen(count), true);
  }
  // The next visible one in that direction.
  function seen(count) {
    const way = count < shown ? -1 : 1;
    while (!raw.checked && events[count - 1]?.kind === "evidence" && events[count - 1 + way]) count += way;
    return count;
  }
  function to(count, follow) {
    shown = Math.max(1, Math.min(events.length, count));
    const event = events[shown - 1];
    story.mark(shown < events.length ? event.ref : null);
    story.show(lines(), follow);
    track.mark(shown);
    range.value = String(shown);
    const text = `${shown} of ${events.length}, ${time(event.created_at_epoch)}, ${kindOf(event)}`;
    range.setAttribute("aria-valuetext", text);
    said.textContent = text;
  }
  function start() {
    if (shown >= events.length) to(1, true);
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
    timer = setInterval(() => {
      to(seen(shown + 1), true);
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

  // Not while text is selected or a wide block is scrolled.
  const going = (act) => (event) => {
    if (event.shiftKey || event.target === range || event.target.closest?.("pre, .wide")) return false;
    act();
  };
  // From title to title, including those that are not drawn.
  const step = (way) => () => {
    let at = story.lines.findIndex((each) => each.ref === reached) + way;
    while (story.lines[at] && !hasTitle(story.lines[at])) at += way;
    if (story.lines[at]) story.reach(at).querySelector("a.title")?.focus({ preventScroll: true });
  };
  bind(
    {
      ArrowLeft: going(() => by(shown - 1)),
      ArrowRight: going(() => by(shown + 1)),
      Home: going(() => story.toEdge(false)),
      End: going(() => story.toEdge(true)),
      j: step(1),
      k: step(-1),
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
      h("span", { class: "meta far" }, raw, h("label", { for: "evidence" }, "raw tool uses")),
    ),
  );
  return {
    controls,
    list: story.element,
    known,
    // Each is inserted by its time. At the end, the replay stays at the end; further back, it does not move.
    grow: (more) => {
      const isAtEnd = shown >= events.length,
        current = events[shown - 1];
      const added = more.filter((each) => !known.has(each.ref));
      if (!added.length) return;
      for (const each of added) {
        let at = events.length;
        while (at && events[at - 1].created_at_epoch > each.created_at_epoch) at--;
        events.splice(at, 0, each);
        known.set(each.ref, each);
      }
      range.max = events.length;
      track.draw();
      to(isAtEnd ? events.length : events.indexOf(current) + 1, false);
    },
    // event: its current state; null: it was deleted.
    renew: (ref, event) => {
      const was = known.get(ref);
      if (!was) return;
      const is = event || { ...was, isForgotten: true };
      events[events.indexOf(was)] = is;
      known.set(ref, is);
      story.lines = lines();
      story.renew(is);
    },
    reveal: (ref) => {
      const at = story.lines.findIndex((each) => each.ref === ref);
      if (at < 0) return;
      const item = story.reach(at, "center");
      if (!isTyping(document.activeElement)) item.querySelector("a.title")?.focus({ preventScroll: true });
    },
  };
}

const hasTitle = (event) => event.kind !== "evidence" && !event.isForgotten;

// One SVG shape for each kind, however many events there are.
function ticks(events, onpick) {
  const kinds = ["evidence", "observation", "summary", "prompt"].map((kind) => ({
    kind,
    shape: svg("path", { class: `tick ${kind}` }),
  }));
  const cursor = svg("rect", { class: "veil", x: 0, y: 0, width: 0, height: 16 });
  const element = svg(
    "svg",
    {
      class: "ticks",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
      onclick: (event) => {
        const box = element.getBoundingClientRect();
        onpick(Math.floor(((event.clientX - box.left) / box.width) * events.length));
      },
    },
    kinds.map(({ shape }) => shape),
    cursor,
  );
  return {
    element,
    draw: () => {
      element.setAttribute("viewBox", `0 0 ${events.length} 16`);
      const shapes = { evidence: "", observation: "", summary: "", prompt: "" },
        isCrowded = events.length > CROWDED;
      for (let at = 0, end = 0; at < events.length; at = end) {
        const { kind } = events[at];
        for (end = at + 1; isCrowded && events[end]?.kind === kind;) end++;
        const wide = end - at - 0.2;
        shapes[kind] += `M${at} ${kind === "evidence" ? 8 : 0}h${wide}V16h-${wide}z`;
      }
      kinds.forEach(({ kind, shape }) => shape.setAttribute("d", shapes[kind]));
    },
    mark: (count) => {
      cursor.setAttribute("x", count);
      cursor.setAttribute("width", Math.max(0, events.length - count));
    },
  };
}

function entry(event) {
  if (event.isForgotten) return h("span", { class: "meta" }, "Deleted.");
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
