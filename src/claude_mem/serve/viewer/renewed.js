// Reads memories again, as many at a time as the worker tells.

import { post } from "./api.js";

const MOST = 100;
const latest = new Map(); // of each memory, the question that was asked last
let questions = 0;

// Of each part { results, missing }: how they are now, and which are gone. Answers may come in another order: of a
// memory that was asked for again meanwhile only the later one tells.
export async function* renewed(refs, signal) {
  const mine = ++questions;
  refs.forEach((ref) => latest.set(ref, mine));
  for (let at = 0; at < refs.length; at += MOST) {
    const found = await post("/api/observations/batch", { ids: refs.slice(at, at + MOST), limit: MOST }, signal);
    yield { ...found, results: found.results.filter(({ ref }) => latest.get(ref) === mine) };
  }
}
