"use strict";
// How memories are shown: as choices, as lines, and as pages that cannot be edited.

const vscode = require("vscode");

const SCHEME = "claude-mem";
const PARTS = [
  ["narrative", ""],
  ["text", ""],
  ["prompt", ""],
  ["request", "Asked"],
  ["investigated", "Investigated"],
  ["learned", "Learned"],
  ["completed", "Done"],
  ["next_steps", "Next"],
  ["facts", "Facts"],
  ["files_modified", "Files modified"],
  ["files_read", "Files read"],
];

// Returns a function that shows a text under a title, and again if it is shown already.
function register(context) {
  const texts = new Map();
  const changed = new vscode.EventEmitter();
  const provider = {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? "",
  };
  context.subscriptions.push(changed, vscode.workspace.registerTextDocumentContentProvider(SCHEME, provider));
  return async (title, text) => {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}.md` });
    texts.set(uri.toString(), text);
    changed.fire(uri);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
  };
}

const choice = (memory) => ({
  label: memory.title,
  description: `${memory.type ?? memory.kind}, ${memory.created_at.slice(0, 10)}`,
  detail: memory.snippet,
  alwaysShow: true, // it was found by the worker's search, not by the letters of its title
  ref: memory.ref,
});

const line = (memory) => `- ${memory.created_at.slice(0, 10)} ${memory.type ?? memory.kind}: ${memory.title}`;

function memory(found) {
  const lines = [`# ${found.title}`, "", `${found.type ?? found.kind}, ${found.created_at}, ${found.project}`];
  for (const [name, heading] of PARTS) {
    const value = found[name];
    if (!value || !value.length) continue;
    lines.push("", ...(heading ? [`## ${heading}`, ""] : []));
    lines.push(Array.isArray(value) ? value.map((each) => `- ${each}`).join("\n") : value);
  }
  return `${lines.join("\n")}\n`;
}

module.exports = { register, choice, line, memory };
