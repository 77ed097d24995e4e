"use strict";
// One window's session in its five stages: context, prompt, tool uses, the end of a turn, the end. Knows no editor.

const crypto = require("node:crypto");

const CLIENT = "vscode";
const MOST_CHANGED = 8000; // characters of a changed passage
const MOST_REMEMBERED = 200; // files
const LARGEST = 512 * 1024; // characters of a file that is compared with what it was

class Session {
  // place: { cwd } or { project }; idleMs: after how long without a change a turn has ended.
  constructor({ worker, place, idleMs }) {
    this.id = crypto.randomUUID();
    this.worker = worker;
    this.place = place;
    this.idleMs = idleMs;
    this.uses = 0;
    this.isOpen = false; // something was done that no end of a turn has followed
    this.files = new Map(); // what was in them when they were opened or last saved
    this.opened = new Set();
  }

  // Stage 1: what would be injected at its start: { text, plain, refs, project }.
  context() {
    const query = new URLSearchParams({ ...this.place, format: "json" });
    return this.worker.query("GET", `/api/context/inject?${query}`);
  }

  // Stage 2.
  prompt(text) {
    this.changed();
    return this.worker.send("/sessions/init", { ...this.named(), ...this.place, userPrompt: text });
  }

  // Stage 3. A file as it was opened, to tell later what was changed in it.
  seen(file, text) {
    if (text.length > LARGEST) return;
    this.files.delete(file);
    this.files.set(file, text);
    if (this.files.size > MOST_REMEMBERED) this.files.delete(this.files.keys().next().value);
  }

  saved(file, text) {
    const before = this.files.get(file);
    this.seen(file, text);
    if (before === text) return undefined;
    this.changed();
    const passage = before === undefined ? {} : changedPassage(before, text);
    return this.used("FileSave", { file_path: file, ...passage }, "File saved successfully");
  }

  looked(file, lines) {
    if (this.opened.has(file)) return undefined;
    this.opened.add(file);
    return this.used("FileOpen", { file_path: file }, `${lines} lines`);
  }

  used(tool, input, response) {
    return this.worker.send("/api/sessions/observations", {
      ...this.named(),
      ...this.place,
      tool_name: tool,
      tool_input: input,
      tool_response: response,
      tool_use_id: `${this.id}-${++this.uses}`,
    });
  }

  // Stage 4: after a while without changes, or when a chat has answered.
  ended(message) {
    clearTimeout(this.idle);
    if (!this.isOpen) return undefined;
    this.isOpen = false;
    const said = message ? { last_assistant_message: message } : {};
    return this.worker.send("/api/sessions/summarize", { ...this.named(), ...this.place, ...said });
  }

  // Stage 5.
  async complete(reason) {
    this.ended();
    if (this.wasUsed) await this.worker.send("/api/sessions/complete", { ...this.named(), reason });
  }

  changed() {
    this.isOpen = this.wasUsed = true;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.ended(), this.idleMs);
    this.idle.unref?.();
  }

  named() {
    return { claudeSessionId: this.id, client: CLIENT };
  }
}

// The lines that differ, without those that both texts begin and end with.
function changedPassage(before, after) {
  const old = before.split("\n"),
    now = after.split("\n");
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  const most = Math.min(old.length, now.length) - head;
  while (tail < most && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const passage = (lines) => lines.slice(head, lines.length - tail).join("\n").slice(0, MOST_CHANGED);
  return { old_string: passage(old), new_string: passage(now) };
}

module.exports = { Session, changedPassage };
