// Reads memories again, as many at a time as the worker tells.

import { post } from "./api.js";

const MOST = 100;

// Of each part { results, missing }: how they are now, and which are gone.
export async function* renewed(refs, signal) {
  for (let at = 0; at < refs.length; at += MOST)
    yield await post("/api/observations/batch", { ids: refs.slice(at, at + MOST), limit: MOST }, signal);
}
