// The state of the worker: the dot at the top, the spinner, and the banner with each problem and its remedy.

import { byId, h, put } from "./dom.js";
import { get, post } from "./api.js";
import { on } from "./stream.js";
import { toast } from "./toast.js";
import { many, span } from "./words.js";

const OFTEN = 15_000;
const known = { queue: null, working: false, up: null, banners: [], recording: null, signedOut: false };
const changes = new EventTarget();
const dismissed = new Set(); // messages that are not shown again in this tab
let timer = 0,
  asked = 0,
  heard = 0; // the number of the latest answer

export const now = () => known;

export function watch(listener, signal) {
  changes.addEventListener("state", () => listener(known), { signal });
  listener(known);
}

export function start() {
  on("initial", (event) => {
    known.up = true;
    heardQueue(event.queue);
    heardObserver(event.observer);
    look();
  });
  on("queue", (event) => {
    heardQueue(event.queue);
    soon();
  });
  on("observer", (event) => {
    heardObserver(event.observer);
    soon();
  });
  on("changed", (event) => {
    if (["settings", "recording"].includes(event.what)) look();
  });
  on("up", () => {
    known.up = true;
    draw();
  });
  on("down", () => {
    known.up = false;
    draw();
  });
  document.addEventListener("visibilitychange", look);
  setInterval(look, OFTEN);
}

export function signed(out) {
  known.signedOut = out;
  draw();
}

function heardQueue(queue) {
  if (queue) known.queue = { ...known.queue, ...queue };
  draw();
}

function heardObserver(observer) {
  if (observer) known.working = Boolean(observer.working);
  draw();
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(look, 400);
}

export async function look() {
  if (known.signedOut || document.hidden) return;
  const mine = ++asked;
  try {
    const status = await get("/api/status");
    if (mine < heard) return;
    heard = mine;
    Object.assign(known, {
      queue: { ...known.queue, ...status.queue },
      banners: status.banners,
      recording: status.recording,
      observer: status.observer,
      working: Boolean(status.observer?.working),
    });
  } catch {
    // The stream shows whether the worker can be reached.
  }
  draw();
}

export const waiting = (queue) => (queue?.ready || 0) + (queue?.leased || 0) + (queue?.spooled || 0);

export function age(queue, clock = Date.now()) {
  if (queue?.oldest_ready_at) return Math.max(0, clock - queue.oldest_ready_at);
  return queue?.ready ? queue.oldestAgeMs || 0 : 0;
}

function draw() {
  if (known.signedOut) showState("dot off", "signed out");
  else if (known.up === false || (known.up && known.recording)) showState(...quickStatus()); // not before the worker has answered
  banner();
  changes.dispatchEvent(new Event("state"));
}

// Unchanged parts are left alone: a screen reader does not repeat them, and the spinner does not restart.
function showState(mark, text) {
  const place = byId("state");
  if (!place.firstChild) place.append(h("span"), "-");
  const [dot, said] = place.childNodes;
  if (dot.className !== mark) dot.className = mark;
  if (said.data !== text) said.data = text;
}

function quickStatus() {
  if (!known.up) return ["dot error", "reconnecting"];
  const count = waiting(known.queue);
  if (known.working || known.queue?.leased) return ["spin", `observing${count ? `, ${many(count, "event")}` : ""}`];
  if (known.recording !== "on") return ["dot off", known.recording === "off" ? "not recording" : known.recording];
  if (count && known.banners.length)
    return ["dot warning", `${many(count, "event")} waiting ${span(age(known.queue))}`];
  if (count) return ["dot", `${many(count, "event")} of this turn`]; // looked at when it ends
  return ["dot", "up to date"];
}

const LOST = {
  code: "lost",
  level: "warning",
  message: "Lost the connection to the worker. This page catches up when it is back.",
  fix: "If it does not come back, run: claude-mem worker start",
};
const AGAIN = { word: "Try again", act: () => post("/api/queue/retry", {}) };
const COMMAND = /(claude-mem(?: [a-z]+)+)/;
const COPY = {
  word: "Copy",
  act: async ({ fix }) => {
    const [, command] = COMMAND.exec(fix);
    await navigator.clipboard.writeText(command);
    toast(`Copied: ${command}`);
  },
};
// Remedies that the page offers; the rest need a terminal.
const REMEDIES = {
  paused: { word: "Resume recording", act: () => post("/api/recording", { paused: false }) },
  observer_paused: AGAIN,
  out_of_budget: { word: "Settings", href: "#/settings" },
  unreadable: AGAIN,
  parked: AGAIN,
  dropped: { word: "Dismiss", act: ({ message }) => dismissed.add(message) },
};

function banner() {
  const place = byId("banner"),
    notes = known.signedOut ? [] : known.banners.filter((each) => !dismissed.has(each.message));
  if (known.up === false && !known.signedOut) notes.unshift(LOST);
  const codes = notes.map((each) => each.code).join(" ");
  if (place.dataset.codes !== codes) put(place, notes.map(note));
  place.dataset.codes = codes;
  // A button is not replaced while its banner is shown: somebody may be about to press it.
  notes.forEach((each, at) => reword(place.children[at], each));
}

function note({ code, level, fix }) {
  const { word, href, act } = REMEDIES[code] || (COMMAND.test(fix) ? COPY : {});
  return h(
    "div",
    { class: `note ${level}`, "data-code": code },
    h("p"),
    h("p", { class: "fix" }),
    href
      ? h("a", { class: "button", href }, word)
      : act && h("button", { onclick: (event) => help(event.target, act, code) }, word),
    code !== "lost" && code !== "dropped" && h("button", { class: "plain", "aria-label": "Dismiss", onclick: () => dismiss(code) }, "×"),
  );
}

function dismiss(code) {
  known.banners.filter((each) => each.code === code).forEach(({ message }) => dismissed.add(message));
  draw();
}

// Unchanged texts are left alone, so that a screen reader does not repeat them.
function reword(element, { message, fix }) {
  const [said, helps] = element.children,
    advice = fix.startsWith("claude-mem ") ? `In a terminal: ${fix}` : fix;
  if (said.textContent !== message) put(said, message);
  if (helps.textContent !== advice)
    put(
      helps,
      advice.split(COMMAND).map((part, at) => (at % 2 ? h("code", null, part) : part)),
    );
}

async function help(button, act, code) {
  button.disabled = true;
  try {
    await act([LOST, ...known.banners].find((each) => each.code === code));
  } catch (error) {
    toast(error.message);
  }
  button.disabled = false;
  await look();
}
