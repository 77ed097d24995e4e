// The actions on memories. Each reports what it did, and all but forgetting can be undone for a while.

import { h } from "./dom.js";
import { get, post } from "./api.js";
import { dialog } from "./dialog.js";
import { changing, toast } from "./toast.js";
import { titleOf } from "./row.js";
import { many, number } from "./words.js";

const PART = 500; // ids that the worker accepts at a time

export const pin = (refs, pinned, after) =>
  once(`pin ${pinned} ${refs}`, () =>
    inParts(
      refs,
      (ids) => post("/api/memory/pin", { ids, pinned }),
      (count) => `${memories(count)} ${pinned ? "pinned" : "no longer pinned"}.`,
      after,
    ),
  );

export const wrong = (refs, isWrong, after) =>
  once(`wrong ${isWrong} ${refs}`, () =>
    inParts(
      refs,
      (ids) => post("/api/memory/wrong", { ids, wrong: isWrong }),
      (count) =>
        isWrong
          ? `${memories(count)} marked wrong and no longer recalled.`
          : `${memories(count)} no longer marked wrong.`,
      after,
    ),
  );

// Pressing a button again before the action is done does nothing.
const underway = new Set();

async function once(what, act) {
  if (underway.has(what)) return;
  underway.add(what);
  await act().finally(() => underway.delete(what));
}

const memories = (count) => many(count, "memory", "memories");

// The worker accepts a limited number at a time; one button undoes all parts.
async function inParts(refs, ask, words, after) {
  if (await changing(() => asked(refs, ask, words, after))) await after?.();
}

// Whether anything was done.
async function asked(refs, ask, words, after) {
  const undos = [],
    done = [],
    missing = [];
  try {
    for (let at = 0; at < refs.length; at += PART) {
      const answer = await ask(refs.slice(at, at + PART));
      done.push(...answer.results);
      missing.push(...(answer.missing || []));
      if (answer.undo) undos.push(answer.undo);
    }
  } catch (error) {
    toast(error.message);
    if (!done.length) return false;
  }
  const left = missing.length ? ` ${many(missing.length, "is", "are")} missing or cannot be changed like this.` : "";
  toast(words(done.length) + left, undos, after);
  return true;
}

export const merge = (refs, after) => once(`merge ${refs}`, () => merging(refs, after));

async function merging(refs, after) {
  const known = post("/api/observations/batch", { ids: refs, limit: 100 });
  const into = await attempt(() => dialog("Merge duplicates", (close, found) => choice(refs, found, close), known));
  if (into) await join(into, refs, (merged) => memories(merged.length), after);
}

const join = (into, refs, words, after) =>
  attempt(async () => {
    await changing(async () => {
      const done = await post("/api/memory/merge", { into, ids: refs.filter((ref) => ref !== into) });
      toast(`${words(done.merged)} merged into ${into}.`, [done.undo], after);
    });
    await after?.();
  });

function choice(refs, found, close) {
  const name = "into";
  const choices = found.results.map((each, at) =>
    h(
      "li",
      null,
      h(
        "label",
        { class: "choice" },
        h("input", { type: "radio", name, value: each.ref, checked: at === 0 }),
        h("span", null, `${each.ref}: ${titleOf(each)}`),
      ),
    ),
  );
  const merged = (event) => {
    event.preventDefault();
    close(new FormData(event.target).get(name));
  };
  return h(
    "form",
    { onsubmit: merged },
    h("p", null, "Which one should stay? The others are marked as replaced by it and are no longer injected."),
    h("ul", { class: "plain" }, choices),
    h(
      "div",
      { class: "bar" },
      h("button", { class: "main", type: "submit" }, `Merge ${refs.length} into one`),
      h("button", { type: "button", onclick: () => close() }, "Cancel"),
    ),
  );
}

export const mergeInto = (into, ref, after) => once(`merge ${ref} ${into}`, () => join(into, [ref], () => ref, after));

export const forget = (refs, after) => once(`forget ${refs}`, () => attempt(() => forgetting(refs, after)));

async function forgetting(refs, after) {
  const sure = await dialog("Delete permanently?", sureToForget, previewed(refs));
  if (!sure) return;
  if (sure.session) return await forgetSession(sure.session, after);
  try {
    const gone = await added(refs, { confirm: true });
    toast(`Deleted: ${tally(gone)}.`);
  } catch (error) {
    if (refs.length <= PART) throw error;
    toast(`${error.message} Some may already be deleted.`);
  }
  await after?.(true);
}

// Including its title, its prompts and its tool events.
export const forgetSession = (session, after) =>
  once(`forget session ${session}`, () => attempt(() => forgettingSession(session, after)));

async function forgettingSession(session, after) {
  const asked = (more) => post("/api/memory/forget", { session, ...more });
  if (!(await dialog("Delete permanently?", sureToForget, asked({})))) return;
  toast(`Deleted: ${tally(await asked({ confirm: true }))}.`);
  await after?.("session");
}

const sureToForget = (close, preview) => [
  h("p", null, "This cannot be undone. It deletes:"),
  h("p", { class: "tally" }, h("strong", null, tally(preview)), "."),
  h(
    "ul",
    { class: "facts" },
    preview.sample.slice(0, 8).map((each) => h("li", null, `${each.ref}: ${titleOf(each)}`)),
  ),
  preview.backups > 0 && h("p", null, `${many(preview.backups, "backup")} will be rewritten without it.`),
  preview.of_others > 0 &&
    h("p", null, `Other members wrote ${number(preview.of_others)} of these. The team keeps them: they are deleted on this machine only.`),
  preview.stays && h("p", { class: "stays" }, preview.stays),
  h(
    "div",
    { class: "bar" },
    h("button", { class: "grave", onclick: () => close(true) }, "Forget"),
    h("button", { autofocus: true, onclick: () => close() }, "Cancel"),
    preview.session &&
      h("button", { class: "far", onclick: () => close({ session: preview.session }) }, "Delete the whole session instead"),
  ),
];

// What is deleted, and what stays and may say the same, because it was observed in the same session.
async function previewed(refs) {
  const preview = await added(refs, {}),
    [session, ...others] = new Set(preview.sample.map((each) => each.session_id));
  if (others.length || preview.sample.length < refs.length)
    return { ...preview, stays: "Their sessions stay and may contain the same information. To delete a whole session, use its page." };
  const { counts } = await get(`/api/session/${encodeURIComponent(session)}/events`, { limit: 1 });
  const rest = {
    observations: counts.observation - preview.observations,
    summaries: counts.summary - preview.summaries,
    prompts: counts.prompt - preview.prompts,
    evidence: counts.evidence - preview.evidence,
  };
  if (!rest.summaries && !rest.prompts && !rest.evidence) return preview; // saved by a person, or nothing is left
  return { ...preview, session, stays: `The rest of its session stays and may contain the same information: ${tally(rest)}.` };
}

const COUNTED = [
  ["sessions", "session"],
  ["observations", "observation"],
  ["summaries", "summary", "summaries"],
  ["prompts", "prompt"],
  ["evidence", "raw tool use"],
];

function tally(counts) {
  return (
    COUNTED.filter(([name]) => counts[name] > 0)
      .map(([name, one, more]) => many(counts[name], one, more))
      .join(", ") || "nothing"
  );
}

async function added(refs, more) {
  const sum = { sample: [], backups: 0, of_others: 0 };
  for (let at = 0; at < refs.length; at += PART) {
    const part = await post("/api/memory/forget", { ids: refs.slice(at, at + PART), ...more });
    COUNTED.forEach(([name]) => {
      sum[name] = (sum[name] || 0) + part[name];
    });
    sum.sample.push(...part.sample);
    sum.of_others += part.of_others;
    sum.backups = Math.max(sum.backups, part.backups || 0);
  }
  return sum;
}

async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    toast(error.message);
    return null;
  }
}
