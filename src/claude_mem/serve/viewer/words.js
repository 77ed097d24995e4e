// Times, numbers and names as text.

import { AGENTS } from "./filter_list.js";

const MINUTE = 60_000,
  HOUR = 3_600_000,
  DAY = 86_400_000;
const LOCALE = "en-GB"; // fixed: the page is in English in every browser
const plain = new Intl.NumberFormat(LOCALE);
const three = new Intl.NumberFormat(LOCALE, { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
const cents = new Intl.NumberFormat(LOCALE, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const hundredths = new Intl.NumberFormat(LOCALE, { minimumFractionDigits: 4, maximumFractionDigits: 4 });
const fine = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 2 });
const day = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "medium" });

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
  if (value < 1e4) return number(value);
  return value < 999_500 ? `${three.format(value / 1e3)} k` : `${three.format(value / 1e6)} M`;
}

// Like `claude-mem stats`: cents; below ten cents, hundredths of a cent.
export function money(usd) {
  if (usd === null || usd === undefined) return "unknown";
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "< $0.0001";
  return `$${(usd < 0.1 ? hundredths : cents).format(usd)}`;
}

// For an axis: a fraction of a cent is not zero.
export function dollars(usd) {
  if (usd < 0.1) return `$${fine.format(usd)}`;
  return `$${usd < 1e4 ? cents.format(usd) : short(usd)}`;
}

// The last part of a path on any system.
export function leaf(path) {
  const parts = String(path).split(/[\\/]/);
  return parts.filter(Boolean).pop() || String(path);
}

// A short form of a session's id: without the agent's name; an id that begins with the time is cut where it becomes unique.
export function brief(id) {
  const own = String(id).replace(/^[a-z]+:/, "");
  const [, uuid, random] = own.match(/^([0-9a-f]{8}-[0-9a-f]{4})-(4)?/i) || [];
  if (!uuid) return own.slice(0, 16);
  return own.slice(0, random ? 8 : 13);
}

export const agentOf = (client) => AGENTS[client] || client;

export const NEXT_START = "Takes effect when the worker restarts: claude-mem worker restart";

// When something was injected into a session, by the hook's name.
const OCCASIONS = {
  SessionStart: "at session start",
  UserPromptSubmit: "with a prompt",
  PreToolUse: "before a file is opened",
};
export const occasion = (event) => OCCASIONS[event] || event;
