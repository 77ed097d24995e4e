// How times, numbers and names are said.

const MINUTE = 60_000,
  HOUR = 3_600_000,
  DAY = 86_400_000;
const plain = new Intl.NumberFormat();
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export const number = (value) => plain.format(value ?? 0);
export const many = (count, one, more = `${one}s`) => `${number(count)} ${count === 1 ? one : more}`;
export const date = (epoch) => day.format(epoch);
export const time = (epoch) => clock.format(epoch);
export const moment = (epoch) => exact.format(epoch);

export function ago(epoch, now = Date.now()) {
  const past = now - epoch;
  if (past < MINUTE) return "just now";
  if (past < HOUR) return `${Math.floor(past / MINUTE)} min ago`;
  if (past < DAY) return `${Math.floor(past / HOUR)} h ago`;
  if (past < 7 * DAY) return many(Math.floor(past / DAY), "day") + " ago";
  return date(epoch);
}

export function span(ms) {
  if (ms < 1000) return "0 s";
  if (ms < MINUTE) return `${Math.round(ms / 1000)} s`;
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)} h`;
  return many(Math.round(ms / DAY), "day");
}

export function short(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(value >= 1e7 ? 0 : 1)} M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(value >= 1e5 ? 0 : 1)} k`;
  return number(value);
}

export function money(usd) {
  if (usd === null || usd === undefined) return "unknown";
  if (usd === 0) return "$0";
  return usd < 0.01 ? "< $0.01" : `$${usd.toFixed(2)}`;
}

// A path on any system: the last part, and what is before it.
export function leaf(path) {
  const parts = String(path).split(/[\\/]/);
  return parts.filter(Boolean).pop() || String(path);
}

export const brief = (id) => String(id).slice(0, 8);

export const NEXT_START = "It holds from the worker's next start: claude-mem worker restart";
