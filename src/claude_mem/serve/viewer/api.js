// Requests to the worker. Every failure becomes a Trouble: a status, a code for programs and a sentence for people.

import { keyed } from "./page_key.js";

class Trouble extends Error {
  constructor(status, code, message, field, projects) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field;
    this.projects = projects; // those with the same name
  }
}

let signedOut = () => {};

export function whenSignedOut(onSignOut) {
  signedOut = onSignOut;
}

export const get = (path, query, signal) => ask("GET", path + asked(query), undefined, signal);
export const post = (path, body, signal) => ask("POST", path, body, signal);

// Empty values are left out; lists are joined with commas.
function asked(query) {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(query || {})) {
    if (value === undefined || value === null || value === "" || value.length === 0) continue;
    said.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  const text = said.toString();
  return text && `?${text}`;
}

async function ask(method, path, body, signal) {
  const answer = await reached(path, {
    method,
    signal,
    credentials: "same-origin",
    headers: body === undefined ? keyed() : { ...keyed(), "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const said = await read(answer);
  if (answer.ok) return said;
  if (answer.status === 401) {
    signedOut();
    throw new Trouble(401, "signed_out", "You are signed out. In a terminal, run: claude-mem open. Then try again here.");
  }
  const error = said.error || {};
  const sentence = error.message || `The worker returned status ${answer.status}.`;
  throw new Trouble(answer.status, error.code, sentence, error.field, error.projects);
}

async function reached(path, request) {
  try {
    return await fetch(path, request);
  } catch (error) {
    throw isAbort(error) ? error : lost();
  }
}

// An incomplete answer is an error: leaving the page stops it, and a worker may die while it answers.
async function read(answer) {
  try {
    return await answer.json();
  } catch (error) {
    if (isAbort(error)) throw error;
    if (answer.ok) throw lost();
    return {};
  }
}

const lost = () =>
  new Trouble(0, "unreachable", "The worker cannot be reached. It may be starting; this page keeps trying.");

export const isAbort = (error) => error?.name === "AbortError";
