// Every setting: its meaning, its value, and where that comes from.

import { byId, h, put } from "../dom.js";
import { get, post } from "../api.js";
import { on } from "../stream.js";
import { toast } from "../toast.js";
import { NEXT_START } from "../words.js";

export async function show(place, main, signal) {
  document.title = "Settings · claude-mem";
  const list = h("div", { class: "settings" });
  const found = await get("/api/settings", null, signal);
  const again = h("p", { class: "bar", hidden: true }, h("button", { onclick: restart }, "Restart the worker"));
  put(
    main,
    h("h1", { tabindex: -1 }, "Settings"),
    h("p", { class: "soft" }, "Stored in ", h("code", null, found.file), ". Environment variables override the file."),
    h("p", { class: "soft" }, `Changes are saved immediately. ${NEXT_START}`),
    again,
    found.warnings?.length > 0 &&
      h(
        "div",
        { class: "note warning" },
        found.warnings.map((each) => h("p", null, each)),
      ),
    list,
    h(
      "section",
      null,
      h("h2", null, "This browser"),
      h("p", null, "Each browser in which you open this page is signed in separately."),
      h(
        "div",
        { class: "bar" },
        h("button", { onclick: () => leave(false) }, "Sign out"),
        h("button", { onclick: () => leave(true) }, "Sign out everywhere"),
      ),
    ),
  );
  draw(found);
  wait(found);
  // A changed setting may take effect at the next start.
  function wait({ settings }) {
    again.hidden = !settings.some((each) => each.pending);
    again.firstChild.disabled = false;
  }
  function draw({ settings }) {
    const groups = Map.groupBy(settings, (each) => each.group);
    put(
      list,
      [...groups].map(([name, some]) =>
        h(
          "section",
          null,
          h("h2", null, name),
          some.map((each) => row(each, reload)),
        ),
      ),
    );
  }
  // What was typed after saving stays.
  async function reload(key, sent) {
    const latest = await get("/api/settings", null, signal);
    const setting = latest.settings.find((each) => each.key === key);
    wait(latest);
    const old = byId(`row-${key}`);
    if (!setting || !old) return;
    const had = old.contains(document.activeElement),
      typed = byId(`value-${key}`).value;
    old.replaceWith(row(setting, reload));
    if (typed !== sent) byId(`value-${key}`).value = typed;
    if (had) byId(`value-${key}`).focus();
  }
  on(
    "changed",
    async (event) => {
      if (!["settings", "all"].includes(event.what)) return;
      const latest = await get("/api/settings", null, signal).catch(() => null);
      if (latest) wait(latest);
      for (const each of latest?.settings || []) {
        const old = byId(`row-${each.key}`);
        if (old && !isInUse(old)) old.replaceWith(row(each, reload));
      }
    },
    signal,
  );
}

// A focused field, and what was typed but not saved, is not changed.
function isInUse(row) {
  const field = row.querySelector("input, select, textarea");
  return row.contains(document.activeElement) || field.value !== field.dataset.was;
}

async function leave(everywhere) {
  await post("/api/signout", { everywhere }).catch(() => {});
  location.reload();
}

const written = (value) =>
  value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);

// Programs, addresses and keys can be changed only on the command line: the worker refuses them here.
function shown(setting) {
  const { key } = setting,
    id = `value-${key}`,
    about = `about-${key}`;
  const input = field(setting, id, about);
  input.readOnly = true;
  input.dataset.was = input.value;
  return h(
    "div",
    { class: "setting", id: `row-${key}` },
    label(setting, id, about),
    h("div", { class: "bar" }, input),
    h("p", { class: "meta" }, "To change it, run: ", h("code", null, `claude-mem config set ${key}`)),
    h("p", { class: "wrongly", role: "alert" }, setting.trouble),
  );
}

const label = (setting, id, about) =>
  h(
    "div",
    null,
    h("label", { for: id, class: "mono" }, setting.key),
    " ",
    h("span", { class: `chip ${setting.origin === "default" ? "" : "pin"}` }, setting.origin),
    h("p", { id: about, class: "meta" }, `${setting.meaning} Allowed: ${setting.allowed}.`),
    setting.origin === "environment" &&
      h("p", { class: "meta" }, "Set by an environment variable, which overrides what you save here."),
    setting.pending && setting.origin === "file" && h("p", { class: "meta" }, `Saved. ${NEXT_START}`),
  );

function row(setting, reload) {
  if (setting.socket_only) return shown(setting);
  const { key, kind } = setting,
    id = `value-${key}`,
    about = `about-${key}`;
  const problem = h("p", { class: "wrongly", role: "alert" }, setting.trouble);
  const input = field(setting, id, about);
  input.dataset.was = input.value;
  let sent = null;
  const save = async (value) => {
    const typed = (sent = input.value);
    problem.textContent = "";
    try {
      const done = await post("/api/settings", { changes: { [key]: value } });
      const what = value !== null ? "saved" : "reset to its default";
      toast(
        done.shadowed?.includes(key)
          ? `${key} is ${what}, but the environment overrides it.`
          : done.restart
            ? `${key} is ${what}. ${NEXT_START}`
            : `${key} is ${what}.`,
      );
      await reload(key, typed).catch(() => {}); // it is saved; the next status shows the result
    } catch (error) {
      if (!input.isConnected) return toast(`${key}: ${error.message}`);
      problem.textContent = error.message;
      input.setAttribute("aria-invalid", "true");
      input.focus();
    } finally {
      sent = null;
    }
  };
  const submit = (event) => {
    event.preventDefault();
    // A value that is hidden or cut must not be lost by sending it back: only "Default" and "Remove" delete it.
    if (input.value === input.dataset.was) return toast(`${key} was not changed.`);
    if (input.value === sent) return; // it is being saved
    try {
      save(read(kind, input.value));
    } catch {
      problem.textContent = `Not valid JSON. Allowed: ${setting.allowed}.`;
      input.setAttribute("aria-invalid", "true");
      input.focus();
    }
  };
  return h(
    "form",
    { class: "setting", id: `row-${key}`, onsubmit: submit },
    label(setting, id, about),
    h(
      "div",
      { class: "bar" },
      input,
      h("button", { type: "submit" }, "Save"),
      setting.origin === "file" &&
        h("button", { type: "button", class: "plain", onclick: () => save(null) }, "Default"),
    ),
    problem,
    setting.origin !== "default" &&
      setting.default !== null &&
      h("p", { class: "meta" }, `Default: ${written(setting.default) || "empty"}`),
  );
}

function field(setting, id, about) {
  const said = { id, "aria-describedby": about, autocomplete: "off", spellcheck: "false" };
  if (setting.kind === "choice")
    return h(
      "select",
      said,
      setting.choices.map((each) => h("option", { value: each, selected: each === setting.value }, each)),
    );
  if (setting.kind === "secret")
    return h("input", {
      ...said,
      type: "password",
      placeholder: setting.set ? "set (hidden)" : "not set",
      autocomplete: "new-password",
    });
  if (setting.kind === "list") return h("textarea", { ...said, rows: 2, value: [...(setting.value || [])].join(", ") });
  if (setting.kind === "table")
    return h("textarea", {
      ...said,
      rows: 2,
      value: JSON.stringify(Array.isArray(setting.value) ? Object.fromEntries(setting.value) : setting.value || {}),
    });
  return h("input", {
    ...said,
    inputmode: setting.kind === "integer" ? "numeric" : null,
    value: written(setting.value),
  });
}

// Invalid numbers are sent as typed: the worker's answer says what is wrong.
function read(kind, text) {
  const trimmed = text.trim();
  if (kind === "integer" || kind === "number")
    return trimmed !== "" && Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
  if (kind === "list")
    return trimmed
      .split(/[,\n]/)
      .map((each) => each.trim())
      .filter(Boolean);
  if (kind === "table") return JSON.parse(trimmed || "{}");
  return trimmed;
}

async function restart(event) {
  event.target.disabled = true;
  try {
    await post("/api/restart", {});
    toast("The worker restarts.");
  } catch (error) {
    event.target.disabled = false;
    toast(error.message);
  }
}
