// The keyboard: one table of what each key does, from which the help is made.

import { byId, h, isTyping } from "./dom.js";
import { dialog } from "./dialog.js";
import { go } from "./router.js";
import { takeBackLast } from "./toast.js";

const PLACES = { h: "#/", l: "#/live", f: "#/find", p: "#/projects", c: "#/cost", x: "#/context", t: "#/team", s: "#/settings", o: "#/logs" };
const HELP = [
  ["/", "search"],
  ["j  k", "next, previous"],
  ["enter", "open the current item"],
  ["x", "select the current item"],
  ["esc", "leave the search box; clear the selection"],
  ["e", "edit (on a memory's page)"],
  ["p", "pin or unpin"],
  ["w", "mark wrong, or undo that"],
  ["#", "forget, after confirmation"],
  ["u", "undo the last change"],
  ["←  →", "step through a session"],
  ["g then h l f p c x t s o", "Home, Live, Find, Projects, Cost, Context, Team, Settings, Logs"],
  ["?", "this help"],
];
const HELD = ["j", "k", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]; // these repeat while they are held; all others act once
const LETTER_MS = 1500; // how long `g` waits for its letter
const bound = new Map(); // the keys of the current page
let until = 0;

export function bind(keys, signal) {
  for (const [key, act] of Object.entries(keys)) bound.set(key, act);
  signal.addEventListener("abort", () =>
    Object.keys(keys).forEach((key) => {
      if (bound.get(key) === keys[key]) bound.delete(key);
    }),
  );
}

export function help() {
  dialog("Keys", (close) => [
    h(
      "dl",
      { class: "keys" },
      HELP.map(([keys, does]) => [h("dt", null, h("kbd", null, keys)), h("dd", null, does)]),
    ),
    h("div", { class: "bar" }, h("button", { class: "main far", onclick: () => close() }, "Close")),
  ]);
}

export function start(box) {
  document.addEventListener("keydown", (event) => {
    if (!isPlain(event) || event.isComposing || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && event.target === box) return box.blur();
    if (event.target === box && event.key === "ArrowDown") {
      event.preventDefault();
      return toFirst();
    }
    if (isTyping(event.target) || (event.repeat && !HELD.includes(event.key))) return;
    if (act(event, box)) event.preventDefault();
  });
}

// AltGr reports Ctrl and Alt; on many keyboards it is the only way to type "#" or "/".
function isPlain(event) {
  return event.getModifierState("AltGraph") || !(event.ctrlKey || event.metaKey || event.altKey);
}

function act(event, box) {
  const { key } = event,
    isSecond = event.timeStamp < until; // when it was pressed: a busy page receives the event later
  until = key === "g" ? performance.now() + LETTER_MS : 0;
  if (isSecond && PLACES[key]) {
    go(PLACES[key]);
    return true;
  }
  if (key === "/") {
    box.focus();
    box.select();
    return true;
  }
  if (key === "?") {
    help();
    return true;
  }
  if (key === "u") {
    takeBackLast();
    return true;
  }
  if (bound.has(key)) return bound.get(key)(event) !== false;
  if (key === "j" || key === "k") return step(key === "j" ? 1 : -1);
  return false;
}

const links = () => [...byId("main").querySelectorAll("a.title")];

// On pages without a list: from title to title.
function step(by) {
  const all = links();
  if (!all.length) return false;
  const at = all.indexOf(document.activeElement);
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

export function toFirst() {
  if (bound.has("j")) {
    byId("q").blur();
    bound.get("j")({});
  } else links()[0]?.focus();
}
