// How the worker is: the dot at the top, the spinner, and the banner that says what is wrong and what helps.

import { byId, h, put } from "./dom.js";
import { get } from "./api.js";
import { on } from "./stream.js";
import { many, span } from "./words.js";

const OFTEN = 15_000;
const known = { queue: null, working: false, up: null, banners: [], recording: "on", signedOut: false };
const told = new EventTarget();
let timer = 0;

export const now = () => known;

export function watch(tell, signal) {
  told.addEventListener("state", () => tell(known), { signal });
  tell(known);
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
    if (event.what === "settings") look();
  });
  on("up", () => {
    known.up = true;
    draw();
  });
  on("down", () => {
    known.up = false;
    draw();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) look();
  });
  setInterval(() => {
    if (!document.hidden && !known.signedOut) look();
  }, OFTEN);
}

export function signedOut() {
  known.signedOut = true;
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
  if (known.signedOut) return;
  try {
    const status = await get("/api/status");
    Object.assign(known, {
      queue: { ...known.queue, ...status.queue },
      banners: status.banners,
      recording: status.recording,
      observer: status.observer,
      working: Boolean(status.observer?.working),
      reached: true,
    });
  } catch (error) {
    if (error.status === 0) known.reached = false;
  }
  draw();
}

export const waiting = (queue) => (queue?.ready || 0) + (queue?.leased || 0) + (queue?.spooled || 0);

export function age(queue, clock = Date.now()) {
  if (queue?.oldest_ready_at) return Math.max(0, clock - queue.oldest_ready_at);
  return queue?.ready ? queue.oldestAgeMs || 0 : 0;
}

function draw() {
  put(byId("state"), known.signedOut ? [h("span", { class: "dot off" }), "signed out"] : glance());
  banner();
  told.dispatchEvent(new Event("state"));
}

function glance() {
  if (known.up === null) return [];
  if (!known.up) return [h("span", { class: "dot error" }), "reconnecting"];
  const count = waiting(known.queue);
  if (known.working || known.queue?.leased)
    return [h("span", { class: "spin" }), `observing${count ? `, ${many(count, "event")}` : ""}`];
  if (known.recording !== "on") return [h("span", { class: "dot off" }), known.recording];
  if (count) return [h("span", { class: "dot warning" }), `${many(count, "event")} waiting ${span(age(known.queue))}`];
  return [h("span", { class: "dot" }), "up to date"];
}

function banner() {
  const notes = known.signedOut ? [] : known.banners.map((each) => note(each.level, each.message, each.fix));
  if (known.up === false && !known.signedOut) {
    notes.unshift(
      note(
        "warning",
        "The connection to the worker is lost. What happens meanwhile comes in when it is back.",
        "If it does not come back: claude-mem worker start",
      ),
    );
  }
  const place = byId("banner"),
    said = notes.map((each) => each.textContent).join("\n");
  if (place.dataset.said === said) return; // not read aloud again
  place.dataset.said = said;
  put(place, notes);
}

export function note(level, message, fix) {
  return h("div", { class: `note ${level}` }, h("p", null, message), fix && h("p", { class: "fix" }, fix));
}
