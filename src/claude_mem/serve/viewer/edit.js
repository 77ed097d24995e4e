// The dialog that edits a memory. It shows why a change cannot be saved, and nothing typed is lost.

import { h } from "./dom.js";
import { post } from "./api.js";
import { dialog } from "./dialog.js";
import { on } from "./stream.js";
import { changing, toast } from "./toast.js";
import { TYPES } from "./row.js";

const LABELS = [
  ["title", "Title"],
  ["type", "Type"],
  ["subtitle", "Subtitle"],
  ["narrative", "What happened"],
  ["facts", "Facts, one per line"],
  ["concepts", "Concepts, separated by commas"],
];
const SPLIT = { facts: "\n", concepts: "," };

export async function edit(memory, after) {
  const types = [...new Set([memory.type, ...TYPES])].filter(Boolean);
  const inputs = {
    title: h("input", { value: memory.title || "", required: true }),
    type: h(
      "select",
      null,
      types.map((each) => h("option", { value: each, selected: each === memory.type }, each)),
    ),
    subtitle: h("input", { value: memory.subtitle || "" }),
    narrative: h("textarea", { rows: 5, value: memory.narrative || memory.text || "" }),
    facts: h("textarea", { rows: 4, value: (memory.facts || []).join("\n") }),
    concepts: h("input", { value: (memory.concepts || []).join(", ") }),
  };
  for (const [name, input] of Object.entries(inputs)) {
    input.id = `edit-${name}`;
    input.dataset.was = input.value;
    input.setAttribute("aria-describedby", "edit-problem");
  }
  // Only the changed fields: the others stay as they are.
  const changed = () =>
    Object.fromEntries(
      Object.entries(inputs)
        .filter(([, input]) => input.value !== input.dataset.was)
        .map(([name, input]) => [name, SPLIT[name] ? parts(input.value, SPLIT[name]) : input.value]),
    );
  const over = new AbortController();
  let isSent = false;
  await dialog("Edit this memory", (close) => {
    const problem = h("p", { class: "wrongly", role: "alert", id: "edit-problem" });
    const warn = ({ refs }) => {
      if (refs?.map(String).includes(String(memory.ref)))
        problem.textContent = "This memory was changed elsewhere in the meantime. Saving replaces only the fields you changed.";
    };
    on("changed", warn, over.signal);
    let isSignedOut = false;
    on(
      "up",
      () => isSignedOut && (problem.textContent = "You are signed in again and can save what you typed."),
      over.signal,
    );
    const save = async (event) => {
      event.preventDefault();
      const said = changed();
      if (!Object.keys(said).length) return close();
      if (isSent) return;
      isSent = true;
      try {
        await changing(async () => {
          const done = await post("/api/memory/edit", { id: memory.id, ...said });
          close();
          toast("Saved.", [done.undo], after); // also if the user has left the dialog meanwhile
        });
      } catch (error) {
        isSent = false;
        if (!problem.isConnected) return toast(error.message);
        problem.textContent = error.message;
        isSignedOut = error.status === 401;
        for (const input of Object.values(inputs)) input.removeAttribute("aria-invalid");
        inputs[error.field]?.setAttribute("aria-invalid", "true");
        inputs[error.field]?.focus();
        return;
      }
      await after?.();
    };
    return h(
      "form",
      { onsubmit: save },
      LABELS.map(([name, label]) => field(label, inputs[name])),
      problem,
      h(
        "div",
        { class: "bar" },
        h("button", { class: "main", type: "submit" }, "Save"),
        h("button", { type: "button", onclick: () => close() }, "Cancel"),
      ),
    );
  });
  over.abort();
}

const parts = (text, by) =>
  text
    .split(by)
    .map((part) => part.trim())
    .filter(Boolean);

const field = (label, input) => h("div", { class: "field" }, h("label", { for: input.id }, label), input);
