"use strict";
// Connects the editor's events to a session: activate, prompts, saves and opened files, idleness, deactivate.

const vscode = require("vscode");
const { Session } = require("./session.js");
const { Worker, dataDirectory } = require("./worker.js");
const pages = require("./pages.js");

const MOST_RESULTS = 20;
const MINUTE_MS = 60_000;

let running = null; // what deactivate ends

function activate(context) {
  const setting = (name, otherwise) => vscode.workspace.getConfiguration("claude-mem").get(name, otherwise);
  const worker = new Worker({
    directory: dataDirectory(setting("dataDirectory", "")),
    command: setting("command", "") || "claude-mem",
    tell: (sentence) => void vscode.window.showInformationMessage(sentence),
  });
  const folder = vscode.workspace.workspaceFolders?.[0];
  const session = new Session({
    worker,
    place: folder ? { cwd: folder.uri.fsPath } : { project: vscode.workspace.name || "default" },
    idleMs: setting("idleMinutes", 5) * MINUTE_MS,
  });
  running = { session, worker };
  const records = () => setting("record", true);
  const shown = pages.register(context);

  const status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Right, 50);
  status.name = "claude-mem";
  status.command = "claude-mem.showContext";
  const say = (text, tooltip) => Object.assign(status, { text, tooltip });
  say("$(book) memory", "claude-mem");
  status.show();

  async function told() {
    const [found, status] = await Promise.all([session.context(), worker.query("GET", "/api/status")]);
    const count = found.refs.length;
    const project = found.project ? ` of ${found.project}` : "";
    const injected = `claude-mem: a new session would get ${count} memories${project}.`;
    const isPaused = status.recording === "paused" || !records();
    if (isPaused) say(`$(debug-pause) memory: ${count}`, `${injected} Recording is paused.`);
    else say(`$(book) memory: ${count}`, injected);
    return found;
  }

  const command = (name, run) =>
    vscode.commands.registerCommand(`claude-mem.${name}`, async (...given) => {
      try {
        return await run(...given);
      } catch (error) {
        say("$(circle-slash) memory", `claude-mem: ${error.message}`);
        void vscode.window.showWarningMessage(`claude-mem: ${error.message}`);
      }
    });

  context.subscriptions.push(
    status,
    command("showContext", async () => {
      const { text, plain } = await told();
      await shown("Injected context", text || plain);
    }),
    command("search", async () => {
      const words = await vscode.window.showInputBox({ prompt: "What did earlier sessions do about …" });
      if (!words?.trim()) return;
      const chosen = await vscode.window.showQuickPick(
        search(worker, session.place, words).then((results) => results.map(pages.choice)),
        { matchOnDescription: true, matchOnDetail: true, placeHolder: `Memories about “${words}”` },
      );
      if (!chosen?.ref) return;
      const { results } = await worker.query("POST", "/api/observations/batch", { ids: [chosen.ref] });
      if (results[0]) await shown(`Memory ${chosen.ref}`, pages.memory(results[0]));
    }),
    command("startTask", async (given) => {
      const text = given ?? (await vscode.window.showInputBox({ prompt: "What are you working on?" }));
      if (!text?.trim() || !records()) return;
      session.ended();
      void session.prompt(text);
    }),
    vscode.workspace.onDidOpenTextDocument((document) => {
      if (ours(document)) session.seen(pathOf(document), document.getText());
    }),
    vscode.workspace.onDidSaveTextDocument((document) => {
      if (records() && ours(document)) void session.saved(pathOf(document), document.getText());
    }),
    vscode.window.onDidChangeActiveTextEditor((editor) => {
      const document = editor?.document;
      if (document && records() && ours(document)) void session.looked(pathOf(document), document.lineCount);
    }),
  );
  for (const document of vscode.workspace.textDocuments)
    if (ours(document)) session.seen(pathOf(document), document.getText());
  if (vscode.chat?.createChatParticipant) {
    const answer = (request, _, stream, token) => answered(session, records(), request, stream, token);
    context.subscriptions.push(vscode.chat.createChatParticipant("claude-mem.memory", answer));
  }
  // Nobody waits for it: the editor starts while the worker is asked, or started.
  told().catch((error) => say("$(circle-slash) memory", `claude-mem: ${error.message}`));
}

// Stage 5. The editor waits a few seconds for what is returned.
async function deactivate() {
  const { session, worker } = running ?? {};
  running = null;
  await session?.complete("exit");
  worker?.close();
}

// A chat's turn: the prompt is recorded, and answered with memory, by a model if the editor has one.
async function answered(session, records, request, stream, token) {
  const worker = session.worker;
  if (records) void session.prompt(request.prompt);
  let said = "";
  if (request.model) {
    const known = await worker
      .query("POST", "/api/context/preview", { ...session.place, prompt: request.prompt })
      .catch(() => null); // nothing is remembered yet
    const memory = [known?.start.text, known?.prompt?.text].filter(Boolean);
    const messages = [...memory, request.prompt].map((text) => vscode.LanguageModelChatMessage.User(text));
    const response = await request.model.sendRequest(messages, {}, token);
    for await (const part of response.text) {
      stream.markdown(part);
      said += part;
    }
  } else {
    const results = await search(worker, session.place, request.prompt);
    stream.markdown(results.length ? results.map(pages.line).join("\n") : "No results.");
  }
  if (records) void session.ended(said);
  return {};
}

async function search(worker, place, words) {
  const query = new URLSearchParams({ ...place, q: words, limit: String(MOST_RESULTS) });
  return (await worker.query("GET", `/api/search?${query}`)).results;
}

// Files on the disk, in the folders that are open here: no settings, no output, nothing of elsewhere.
function ours(document) {
  return document.uri.scheme === "file" && vscode.workspace.getWorkspaceFolder(document.uri) !== undefined;
}

const pathOf = (document) => document.uri.fsPath;

module.exports = { activate, deactivate };
