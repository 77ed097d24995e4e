// What can be done to memories. Each says what it did, and all but forgetting can be taken back for a while.

import { h } from "./dom.js";
import { get, post } from "./api.js";
import { dialog } from "./dialog.js";
import { toast } from "./toast.js";
import { titleOf } from "./row.js";
import { many } from "./words.js";

const PART = 500; // ids the worker takes at a time

export async function pin(refs, pinned, after) {
  await inParts(
    refs,
    (ids) => post("/api/memory/pin", { ids, pinned }),
    (count) => `${memories(count)} ${pinned ? "pinned" : "no longer pinned"}.`,
    after,
  );
}

export async function wrong(refs, isWrong, after) {
  await inParts(
    refs,
    (ids) => post("/api/memory/wrong", { ids, wrong: isWrong }),
    (count) =>
      isWrong
        ? `${memories(count)} marked wrong: not recalled any more.`
        : `${memories(count)} counted as right again.`,
    after,
  );
}

const memories = (count) => (count === 1 ? "1 memory" : `${count} memories`);

// Of several parts each has its own undo; one button takes all back.
async function inParts(refs, ask, words, after) {
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
    if (!done.length) return;
  }
  const left = missing.length ? ` ${many(missing.length, "is", "are")} not there or cannot be changed so.` : "";
  toast(words(done.length) + left, undos.length === 1 ? undos[0] : null, after);
  if (undos.length > 1) undos.forEach((undo, at) => toast(`Part ${at + 1} of ${undos.length}`, undo, after));
  await after?.();
}

export async function merge(refs, after) {
  const { results } = await post("/api/observations/batch", { ids: refs, limit: 100 });
  const into = await dialog("Merge duplicates", (close) => {
    const name = "into";
    const choices = results.map((each, at) =>
      h(
        "li",
        null,
        h(
          "label",
          { class: "meta" },
          h("input", { type: "radio", name, value: each.ref, checked: at === 0 }),
          h("span", null, `${each.ref}: ${titleOf(each)}`),
        ),
      ),
    );
    const list = h("ul", { class: "plain" }, choices);
    return [
      h("p", null, "Which one stays? The others are marked as replaced by it, and recall tells only that one."),
      list,
      h(
        "div",
        { class: "bar" },
        h(
          "button",
          { class: "main", onclick: () => close(list.querySelector("input:checked").value) },
          `Merge ${refs.length} into one`,
        ),
        h("button", { onclick: () => close() }, "Cancel"),
      ),
    ];
  });
  if (!into) return;
  await attempt(async () => {
    const done = await post("/api/memory/merge", { into, ids: refs.filter((ref) => ref !== into) });
    toast(`${many(done.merged.length, "memory", "memories")} merged into ${into}.`, done.undo, after);
    await after?.();
  });
}

export async function mergeInto(into, ref, after) {
  await attempt(async () => {
    const done = await post("/api/memory/merge", { into, ids: [ref] });
    toast(`${ref} merged into ${into}.`, done.undo, after);
    await after?.();
  });
}

export async function forget(refs, after) {
  await attempt(async () => {
    const preview = await added(refs, {});
    const sure = await dialog("Forget for good?", (close) => [
      h("p", null, "This cannot be undone. What will go:"),
      h("p", { class: "tally" }, h("strong", null, tally(preview)), "."),
      h(
        "ul",
        { class: "facts" },
        preview.sample.slice(0, 8).map((each) => h("li", null, `${each.ref}: ${titleOf(each)}`)),
      ),
      preview.backups > 0 && h("p", null, `${many(preview.backups, "backup")} will be made anew without it.`),
      h(
        "div",
        { class: "bar" },
        h("button", { class: "grave", onclick: () => close(true) }, "Forget"),
        h("button", { autofocus: true, onclick: () => close() }, "Keep"),
      ),
    ]);
    if (!sure) return;
    const gone = await added(refs, { confirm: true });
    toast(`Forgotten: ${tally(gone)}.`);
    await after?.(true);
  });
}

const COUNTED = [
  ["sessions", "session"],
  ["observations", "observation"],
  ["summaries", "summary", "summaries"],
  ["prompts", "prompt"],
  ["evidence", "raw tool use"],
  ["vectors", "vector"],
];

function tally(went) {
  return (
    COUNTED.filter(([name]) => went[name])
      .map(([name, one, more]) => many(went[name], one, more))
      .join(", ") || "nothing"
  );
}

async function added(refs, more) {
  const sum = { sample: [], backups: 0 };
  for (let at = 0; at < refs.length; at += PART) {
    const part = await post("/api/memory/forget", { ids: refs.slice(at, at + PART), ...more });
    COUNTED.forEach(([name]) => {
      sum[name] = (sum[name] || 0) + part[name];
    });
    sum.sample.push(...part.sample);
    sum.backups = Math.max(sum.backups, part.backups || 0);
  }
  return sum;
}

const TYPES = ["bugfix", "feature", "refactor", "change", "discovery", "decision"];

export async function edit(memory, after) {
  const known = await get("/api/facets", { project: memory.project }).catch(() => ({ types: [] }));
  const types = [...new Set([memory.type, ...TYPES, ...known.types])].filter(Boolean);
  await dialog("Edit this memory", (close) => {
    const title = h("input", { id: "edit-title", value: memory.title || "", maxlength: 200, required: true });
    const type = h(
      "select",
      { id: "edit-type" },
      types.map((each) => h("option", { value: each, selected: each === memory.type }, each)),
    );
    const subtitle = h("input", { id: "edit-subtitle", value: memory.subtitle || "" });
    const narrative = h("textarea", { id: "edit-narrative", rows: 5, value: memory.narrative || memory.text || "" });
    const facts = h("textarea", { id: "edit-facts", rows: 4, value: (memory.facts || []).join("\n") });
    const concepts = h("input", { id: "edit-concepts", value: (memory.concepts || []).join(", ") });
    for (const input of [title, type, subtitle, narrative, facts, concepts]) input.dataset.was = input.value;
    const read = (input) =>
      input === facts ? parts(input.value, "\n") : input === concepts ? parts(input.value, ",") : input.value;
    const problem = h("p", { class: "wrongly", role: "alert" });
    const save = async (event) => {
      event.preventDefault();
      // Only what was changed: what is left out stays as it is.
      const changed = [title, type, subtitle, narrative, facts, concepts].filter(
        (input) => input.value !== input.dataset.was,
      );
      const said = Object.fromEntries(changed.map((input) => [input.id.slice(5), read(input)]));
      try {
        if (!changed.length) return close();
        const done = await post("/api/memory/edit", { id: memory.id, ...said });
        close();
        toast("Saved.", done.undo, after);
        await after?.();
      } catch (error) {
        problem.textContent = error.message;
      }
    };
    return h(
      "form",
      { onsubmit: save },
      field("Title", title),
      field("Type", type),
      field("Subtitle", subtitle),
      field("What happened", narrative),
      field("Facts, one a line", facts),
      field("Concepts, with commas", concepts),
      problem,
      h(
        "div",
        { class: "bar" },
        h("button", { class: "main", type: "submit" }, "Save"),
        h("button", { type: "button", onclick: () => close() }, "Cancel"),
      ),
    );
  });
}

const parts = (text, by) =>
  text
    .split(by)
    .map((part) => part.trim())
    .filter(Boolean);

const field = (label, input) => h("div", { class: "field" }, h("label", { for: input.id }, label), input);

async function attempt(act) {
  try {
    await act();
  } catch (error) {
    toast(error.message);
  }
}
