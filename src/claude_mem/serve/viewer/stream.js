// Receives the worker's events. A dropped connection is resumed from the last event, by Last-Event-ID.
// Not an EventSource: that does not distinguish a lost connection from an expired cookie.

import { keyed } from "./page_key.js";

const LONGEST_WAIT = 15_000;
const SILENCE = 45_000; // the worker sends something every 15 seconds

const heard = new EventTarget();
let last = "",
  running = null,
  wasUp = false,
  isLate = false, // what is shown was loaded before the stream was open
  wait = 0,
  timer = 0;

export function on(name, listener, signal) {
  heard.addEventListener(name, (event) => listener(event.detail), { signal });
}

function say(name, detail) {
  heard.dispatchEvent(new CustomEvent(name, { detail }));
}

// A hidden tab closes its stream: browsers allow six connections to one address, and there may be many tabs.
export function start() {
  document.addEventListener("visibilitychange", listen);
  window.addEventListener("online", listen);
  listen();
}

function listen() {
  if (!document.hidden) return connect();
  isLate = !wasUp;
  stop();
}

export function stop() {
  clearTimeout(timer);
  running?.abort();
  running = null;
}

export async function connect() {
  stop();
  const mine = (running = new AbortController());
  try {
    // The worker ended it, as it does when it restarts. If it sent nothing, it cannot read its database.
    wait = (await follow(mine)) ? 500 : longer();
  } catch (error) {
    if (mine.signal.aborted && mine.signal.reason !== "silence") return;
    if (error.status === 401) return say("signedout");
    wait = longer();
  }
  isLate = !wasUp;
  if (running !== mine) return;
  say("down", { again: wait });
  timer = setTimeout(connect, wait * (0.75 + Math.random() / 2));
}

const longer = () => Math.min(LONGEST_WAIT, (wait || 500) * 2);

// Whether anything was received before it ended.
async function follow(mine) {
  const answer = await fetch("/stream", {
    signal: mine.signal,
    cache: "no-store",
    credentials: "same-origin",
    headers: last ? { ...keyed(), "Last-Event-ID": last } : keyed(),
  });
  if (!answer.ok) throw Object.assign(new Error("refused"), { status: answer.status });
  let watch = 0,
    isUp = false;
  const expect = () => {
    clearTimeout(watch);
    watch = setTimeout(() => mine.abort("silence"), SILENCE);
  };
  try {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      expect();
      const { value, done } = await reader.read();
      if (done) return isUp;
      wait = 0;
      if (!isUp) rejoice();
      isUp = true;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      parts.forEach(dispatch);
    }
  } finally {
    clearTimeout(watch);
  }
}

// Corrections during a gap are not sent again, so anything shown may have changed.
function rejoice() {
  say("up");
  if (wasUp || isLate) say("changed", { what: "all", refs: [] });
  if (isLate) say("reset");
  wasUp = true;
  isLate = false;
}

function dispatch(block) {
  let name = "message",
    data = "",
    id = null;
  for (const line of block.split("\n")) {
    const [, field, value] = /^([^:]*): ?(.*)$/s.exec(line) || [];
    if (field === "event") name = value;
    else if (field === "data") data += (data && "\n") + value;
    else if (field === "id") id = value;
  }
  if (!data) return;
  say(name, JSON.parse(data));
  if (id) last = id; // only after it was received
}
