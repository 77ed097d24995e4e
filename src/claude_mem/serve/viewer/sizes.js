// How much sessions are told: what is kept, what holds until the worker starts again, and what is only tried out here.

import { h } from "./dom.js";
import { get, isAbort, post } from "./api.js";
import { toast } from "./toast.js";
import { NEXT_START } from "./words.js";

const SIZES = [
  ["context_characters", "CLAUDE_MEM_CONTEXT_CHARACTERS", "Characters at session start", 9900],
  ["context_tokens", "CLAUDE_MEM_CONTEXT_TOKENS", "Tokens at session start (approximate)", 10000],
  ["prompt_characters", "CLAUDE_MEM_PROMPT_CHARACTERS", "Characters with a prompt", 9900],
];

// onchange: another size is to be shown.
export function sizes(onchange, signal) {
  const rows = SIZES.map(([name, key, label, most]) => {
    const id = `set-${name}`,
      about = h("p", { class: "meta", id: `about-${name}` });
    const input = h("input", {
      id,
      type: "number",
      min: 0,
      max: most,
      step: 100,
      "aria-describedby": about.id,
      oninput: () => {
        tell();
        onchange();
      },
    });
    return { name, key, label, most, input, about, kept: undefined, holds: undefined, isElsewhere: false };
  });
  const save = h("button", { class: "main", disabled: true, onclick: keep }, "Save these settings");
  const problem = h("p", { class: "wrongly", role: "alert" });
  let unread = ""; // why it is not known what is kept

  // An empty field is left to what is kept.
  const chosen = ({ input, kept }) => (input.value === "" ? kept : Number(input.value));
  const isChanged = (row) => chosen(row) !== row.kept;
  const isWrong = ({ input, most }) =>
    input.validity.badInput || !Number.isInteger(Number(input.value)) || input.value < 0 || input.value > most;

  function tell() {
    for (const row of rows) {
      row.about.textContent = about(row);
      isWrong(row) ? row.input.setAttribute("aria-invalid", "true") : row.input.removeAttribute("aria-invalid");
    }
    const wrong = rows.find(isWrong);
    problem.textContent = wrong ? `${wrong.label}: a whole number from 0 to ${wrong.most}.` : unread;
    save.disabled = Boolean(wrong) || !rows.some(isChanged);
  }

  function about(row) {
    const { kept, holds, isElsewhere } = row;
    if (isElsewhere) return `Set to ${kept} by an environment variable, which overrides what you save here.`;
    if (holds !== undefined && kept !== holds) return `Saved: ${kept}. In use until the worker restarts: ${holds}.`;
    return isChanged(row) ? `Currently ${kept}.` : "";
  }

  // What is being tried out stays.
  async function load() {
    const found = await get("/api/settings", null, signal).catch((error) => {
      if (isAbort(error)) throw error;
      unread = error.message;
    });
    if (found) {
      unread = "";
      for (const row of rows) {
        const { value, origin } = found.settings.find((each) => each.key === row.key);
        keptIs(row, value, !isChanged(row));
        row.isElsewhere = origin === "environment";
      }
    }
    tell();
  }

  function keptIs(row, value, isShown) {
    row.kept = value;
    if (isShown) row.input.value = value;
  }

  async function keep() {
    const changes = Object.fromEntries(rows.filter(isChanged).map((row) => [row.key, chosen(row)]));
    try {
      const done = await post("/api/settings", { changes });
      toast(
        done.shadowed?.length
          ? `Saved, but the environment overrides ${done.shadowed.join(", ")}.`
          : done.restart
            ? `Saved. ${NEXT_START}`
            : "Saved.",
      );
      for (const row of rows) row.kept = changes[row.key] ?? row.kept; // what was typed since is not lost
      await load();
      onchange();
    } catch (error) {
      if (panel.isConnected) problem.textContent = error.message;
      else if (!isAbort(error)) toast(error.message); // also to who went on
    }
  }

  const panel = h(
    "aside",
    { class: "panel" },
    h("h2", null, "Limits"),
    rows.map(({ label, input, about }) =>
      h("div", { class: "field" }, h("label", { for: input.id }, label), input, about),
    ),
    problem,
    h("div", { class: "bar" }, save),
    h(
      "p",
      { class: "soft" },
      "The preview updates immediately. Sessions use the new values once you save them and restart the worker: ",
      h("code", null, "claude-mem worker restart"),
      ". 0: inject nothing.",
    ),
  );

  return {
    panel,
    load,
    // What to show it with; null: nothing can be shown with that.
    asked: () => (rows.some(isWrong) ? null : Object.fromEntries(rows.map((row) => [row.name, chosen(row)]))),
    // What the worker that runs tells sessions by.
    hold(inForce) {
      for (const row of rows) {
        row.holds = inForce[row.name];
        if (row.kept === undefined) keptIs(row, row.holds, row.input.value === "");
      }
      tell();
    },
    // When sessions are told what is shown.
    from: () => (rows.some(isChanged) ? "unkept" : rows.some((row) => row.kept !== row.holds) ? "restart" : "now"),
  };
}
