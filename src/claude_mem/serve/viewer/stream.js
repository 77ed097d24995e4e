// Listens to what happens. A connection that drops is taken up where it broke off, by Last-Event-ID.
// Not an EventSource: that cannot tell a lost connection from a cookie that has expired.

import { keyed } from "./page_key.js";

const LONGEST_WAIT = 15_000;
const SILENCE = 45_000; // the worker says something every 15 seconds

const heard = new EventTarget();
let last = "",
  running = null,
  wasUp = false,
  isLate = false, // what is shown was asked for before anybody listened
  wait = 0,
  timer = 0;

export function on(name, tell, signal) {
  heard.addEventListener(name, (event) => tell(event.detail), { signal });
}

function say(name, detail) {
  heard.dispatchEvent(new CustomEvent(name, { detail }));
}

// While nobody looks, nobody listens: browsers allow six connections to one address, and tabs are many.
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
    // The worker ended it, as it does when it restarts. One that had nothing to say cannot read its database.
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

// Whether anything was heard before it ended.
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
      parts.forEach(told);
    }
  } finally {
    clearTimeout(watch);
  }
}

// What was corrected while nobody listened is not told again: everything shown may be another.
function rejoice() {
  say("up");
  if (wasUp || isLate) say("changed", { what: "all", refs: [] });
  if (isLate) say("reset");
  wasUp = true;
  isLate = false;
}

function told(block) {
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
  if (id) last = id; // only after it was heard
}
