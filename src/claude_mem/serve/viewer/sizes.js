// The limits of what is injected: the saved values, those in use until the worker restarts, and those only tried out here.

import { h } from "./dom.js";
import { get, isAbort, post } from "./api.js";
import { toast } from "./toast.js";
import { NEXT_START } from "./words.js";

const SIZES = [
  ["context_characters", "CLAUDE_MEM_CONTEXT_CHARACTERS", "Characters at session start", 9900],
  ["context_tokens", "CLAUDE_MEM_CONTEXT_TOKENS", "Tokens at session start (approximate)", 10000],
  ["prompt_characters", "CLAUDE_MEM_PROMPT_CHARACTERS", "Characters with a prompt", 9900],
];

// onchange: called when the preview must change.
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
        refresh();
        onchange();
      },
    });
    return { name, key, label, most, input, about, saved: undefined, inUse: undefined, isElsewhere: false };
  });
  const save = h("button", { class: "main", disabled: true, onclick: saveChanges }, "Save these settings");
  const problem = h("p", { class: "wrongly", role: "alert" });
  let unread = ""; // why the saved values could not be read

  // An empty field means the saved value.
  const chosen = ({ input, saved }) => (input.value === "" ? saved : Number(input.value));
  const isChanged = (row) => chosen(row) !== row.saved;
  const isWrong = ({ input, most }) =>
    input.validity.badInput || !Number.isInteger(Number(input.value)) || input.value < 0 || input.value > most;

  function refresh() {
    for (const row of rows) {
      row.about.textContent = about(row);
      isWrong(row) ? row.input.setAttribute("aria-invalid", "true") : row.input.removeAttribute("aria-invalid");
    }
    const wrong = rows.find(isWrong);
    problem.textContent = wrong ? `${wrong.label}: a whole number from 0 to ${wrong.most}.` : unread;
    save.disabled = Boolean(wrong) || !rows.some(isChanged);
  }

  function about(row) {
    const { saved, inUse, isElsewhere } = row;
    if (isElsewhere) return `Set to ${saved} by an environment variable, which overrides what you save here.`;
    if (inUse !== undefined && saved !== inUse) return `Saved: ${saved}. In use until the worker restarts: ${inUse}.`;
    return isChanged(row) ? `Currently ${saved}.` : "";
  }

  // Values that are being tried out stay.
  async function load() {
    const found = await get("/api/settings", null, signal).catch((error) => {
      if (isAbort(error)) throw error;
      unread = error.message;
    });
    if (found) {
      unread = "";
      for (const row of rows) {
        const { value, origin } = found.settings.find((each) => each.key === row.key);
        setSaved(row, value, !isChanged(row));
        row.isElsewhere = origin === "environment";
      }
    }
    refresh();
  }

  function setSaved(row, value, isShown) {
    row.saved = value;
    if (isShown) row.input.value = value;
  }

  async function saveChanges() {
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
      for (const row of rows) row.saved = changes[row.key] ?? row.saved; // what was typed meanwhile is not lost
      await load();
      onchange();
    } catch (error) {
      if (panel.isConnected) problem.textContent = error.message;
      else if (!isAbort(error)) toast(error.message); // also after the user has left the page
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
    // The values for the preview; null if one is invalid.
    values: () => (rows.some(isWrong) ? null : Object.fromEntries(rows.map((row) => [row.name, chosen(row)]))),
    // Takes the values that the running worker uses.
    useInForce(inForce) {
      for (const row of rows) {
        row.inUse = inForce[row.name];
        if (row.saved === undefined) setSaved(row, row.inUse, row.input.value === "");
      }
      refresh();
    },
    // When sessions get what the preview shows.
    from: () => (rows.some(isChanged) ? "unsaved" : rows.some((row) => row.saved !== row.inUse) ? "restart" : "now"),
  };
}
