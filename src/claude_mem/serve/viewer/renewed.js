// Reloads memories, as many at a time as the worker answers.

import { post } from "./api.js";

const MOST = 100;
const latest = new Map(); // by memory: the number of its last request
let questions = 0;

// Yields { results, missing } for each part: their current state, and which are deleted. Answers may arrive out of
// order: a memory that was requested again meanwhile is only in the later answer.
export async function* renewed(refs, signal) {
  const mine = ++questions;
  refs.forEach((ref) => latest.set(ref, mine));
  for (let at = 0; at < refs.length; at += MOST) {
    const found = await post("/api/observations/batch", { ids: refs.slice(at, at + MOST), limit: MOST }, signal);
    yield { ...found, results: found.results.filter(({ ref }) => latest.get(ref) === mine) };
  }
}
