// Starts the viewer: its navigation, and what is on every page.

import { byId, h, isTyping, moving, put, toHeading } from "./dom.js";
import { get, isAbort, whenSignedOut } from "./api.js";
import { go, link, parse, rename } from "./router.js";
import * as stream from "./stream.js";
import * as state from "./state.js";
import * as keys from "./keys.js";
import { leave } from "./dialog.js";

const PAGES = [
  "home",
  "live",
  "find",
  "session",
  "projects",
  "project",
  "file",
  "observation",
  "cost",
  "context",
  "team",
  "settings",
  "logs",
];
const TABS = { session: "projects", project: "projects", file: "find", observation: "find" };
const box = byId("q");
const broken = new Set(); // pages that could not be loaded
const left = new Map(); // the scroll position of each step in the history, when it was left
let leaving = new AbortController(),
  shown = null,
  showing = null, // until it is
  steps = 0;

async function show() {
  if (state.now().signedOut) return void stream.connect(); // it may be signed in again by now
  const place = parse(location.hash);
  // The search box belongs to the Find page: while that is open, another search updates it without reloading.
  if (place.page === "find" && shown?.page === "find" && shown.again) {
    if (!history.state) history.replaceState({ step: shown.step }, ""); // the scroll position is restored on the way back
    return shown.again(place);
  }
  if (shown?.isThere) left.set(shown.step, window.scrollY);
  leaving.abort();
  // A history step that has a number was visited before.
  const back = left.get(history.state?.step),
    step = history.state?.step ?? `${performance.timeOrigin} ${++steps}`;
  history.replaceState({ step }, "");
  const { signal } = (leaving = new AbortController());
  const isFirst = !shown,
    mine = (shown = { page: place.page, step }),
    hasMoved = moving(signal);
  mark(place);
  const main = byId("main"),
    had = document.activeElement;
  put(main, h("p", { class: "skeleton" }, h("span", { class: "spin" }), "Loading"));
  window.scrollTo(0, 0);
  try {
    if (!PAGES.includes(place.page)) throw new Error(`There is no page “${place.page}”.`);
    const page = await loaded(place.page, signal);
    if (signal.aborted) return;
    const again = await page.show(place, main, signal);
    if (signal.aborted) return;
    mine.again = again;
    again?.(parse(location.hash)); // the user has typed more meanwhile
    if (back) {
      await again?.loaded;
      if (signal.aborted) return;
      if (!hasMoved()) window.scrollTo(0, back);
    }
    mine.isThere = true;
  } catch (error) {
    if (isAbort(error) || signal.aborted) return;
    mine.isLost = error.status === 0;
    failed(main, error);
  }
  // If the user has navigated meanwhile, the page stays where it is.
  const here = document.activeElement;
  if (!isFirst && !isTyping(here) && (here === had || here === document.body)) toHeading();
}

// A browser remembers that a module, or one that it imports, could not be loaded: only reloading the page tries again.
async function loaded(page, signal) {
  const wasBroken = broken.has(page);
  let why = "";
  try {
    if (!wasBroken) return await import(`./pages/${page}.js`);
  } catch (error) {
    broken.add(page);
    why = error.message;
  }
  await get("/api/status", null, signal); // signed out, or no worker: then that message is shown
  if (!wasBroken) throw new Error(`This page could not be loaded: ${why}`);
  leaving.abort();
  location.reload();
}

function failed(main, error) {
  document.title = "claude-mem";
  put(
    main,
    h("h1", { tabindex: -1 }, error.status === 404 ? "Not found" : "Something went wrong"),
    h("p", null, error.message),
    h(
      "div",
      { class: "bar" },
      h("button", { onclick: show }, "Try again"),
      h("a", { class: "button", href: "#/" }, "Back to the home page"),
    ),
  );
}

function mark(place) {
  const tab = TABS[place.page] || place.page;
  for (const each of byId("tabs").querySelectorAll("a")) {
    if (parse(each.getAttribute("href")).page === tab) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  box.value = place.page === "find" ? place.query.q || "" : "";
}

// Typing searches from any page; the filters stay.
function search(typed) {
  const place = parse(location.hash);
  if (place.page === "find") {
    const hash = link("find", "", { ...place.query, q: typed });
    rename(hash);
    shown?.again?.(parse(hash));
  } else if (typed.trim()) {
    go(link("find", "", { q: typed }));
  }
}

function signedOut() {
  stream.stop();
  leaving.abort();
  leave("dialog[open]:not(:has(form))"); // what was typed stays, and can be saved after signing in again
  shown = null;
  state.signed(true);
  put(
    byId("main"),
    h("h1", { tabindex: -1 }, "You are signed out"),
    h("p", null, "This browser's sign-in has expired or was revoked. To sign in again, run this in a terminal:"),
    h("pre", { class: "text" }, "claude-mem open"),
    h("p", null, "Nothing was lost: your memory is stored on this machine."),
  );
}

// All tabs share the key: a tab that has one informs those that have lost it.
const tabs = new BroadcastChannel("signed in");
tabs.onmessage = () => {
  if (state.now().signedOut) stream.connect();
};

function signedIn() {
  tabs.postMessage(true);
  if (state.now().signedOut) state.signed(false);
  else if (!shown?.isLost) return;
  showing = show();
}

box.addEventListener("input", () => search(box.value));
byId("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  await showing; // the results may still be loading
  if (document.activeElement === box) keys.toFirst();
});
byId("help").addEventListener("click", keys.help);
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address belongs to the page
  byId("main").focus();
});
window.addEventListener("hashchange", () => (showing = show()));
whenSignedOut(signedOut);
stream.on("signedout", signedOut);
stream.on("up", signedIn);
state.start();
keys.start(box);
history.scrollRestoration = "manual";
stream.start();
showing = show();
