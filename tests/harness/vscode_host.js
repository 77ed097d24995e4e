"use strict";
// An extension host of our own: enough of the `vscode` module to run an extension under Node, driven by lines of JSON.
//
//   node vscode_host.js MAIN.js FOLDER '{"section.setting": value}'
//
// Each line on standard input is { "do": …, … }; each is answered by one line on standard output, when all that it set
// off has been awaited. What an extension shows is in the answers to "state".

const Module = require("node:module");
const path = require("node:path");
const readline = require("node:readline");

const [main, folder, configured] = process.argv.slice(2);
const settings = JSON.parse(configured || "{}");
const state = { messages: [], status: [], pages: [], picked: [], chat: [], asked: [], context: [] };
const commands = new Map();
const participants = new Map();
const providers = new Map();
const typed = []; // what a person types into the next input boxes
const documents = new Map();

class EventEmitter {
  listeners = new Set();
  event = (listener) => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };
  fire = (value) => Promise.all([...this.listeners].map((listener) => listener(value)));
  dispose() {}
}

class Uri {
  constructor(scheme, where) {
    this.scheme = scheme;
    this.path = where;
  }
  get fsPath() {
    return this.path;
  }
  toString() {
    return `${this.scheme}:${this.path}`;
  }
  static file = (where) => new Uri("file", where);
  static from = ({ scheme, path: where }) => new Uri(scheme, where);
}

const events = {
  opened: new EventEmitter(),
  saved: new EventEmitter(),
  active: new EventEmitter(),
};

const document = (uri, text) => ({
  uri,
  getText: () => text,
  lineCount: text.split("\n").length,
});

const folders = folder ? [{ uri: Uri.file(folder), name: path.basename(folder), index: 0 }] : undefined;

const vscode = {
  EventEmitter,
  Uri,
  StatusBarAlignment: { Left: 1, Right: 2 },
  LanguageModelChatMessage: { User: (content) => ({ role: "user", content }) },
  workspace: {
    name: folder && path.basename(folder),
    workspaceFolders: folders,
    textDocuments: [],
    getWorkspaceFolder: (uri) => folders?.find((each) => uri.fsPath.startsWith(`${each.uri.fsPath}/`)),
    getConfiguration: (section) => ({ get: (name, otherwise) => settings[`${section}.${name}`] ?? otherwise }),
    onDidOpenTextDocument: events.opened.event,
    onDidSaveTextDocument: events.saved.event,
    registerTextDocumentContentProvider: (scheme, provider) => {
      providers.set(scheme, provider);
      return { dispose: () => providers.delete(scheme) };
    },
    openTextDocument: async (uri) => document(uri, await providers.get(uri.scheme).provideTextDocumentContent(uri)),
  },
  window: {
    createStatusBarItem: () => {
      const item = { show() {}, dispose() {} };
      state.status.push(item);
      return item;
    },
    showInputBox: async ({ prompt }) => {
      state.asked.push(prompt);
      return typed.shift();
    },
    showQuickPick: async (items) => {
      const found = await items;
      state.picked.push(found);
      return found[0];
    },
    showInformationMessage: async (text) => void state.messages.push(text),
    showWarningMessage: async (text) => void state.messages.push(text),
    showTextDocument: async (shown) => void state.pages.push({ name: shown.uri.path, text: shown.getText() }),
    onDidChangeActiveTextEditor: events.active.event,
  },
  commands: {
    registerCommand: (id, run) => {
      commands.set(id, run);
      return { dispose: () => commands.delete(id) };
    },
  },
  chat: {
    createChatParticipant: (id, handler) => {
      participants.set(id, handler);
      return { dispose: () => participants.delete(id) };
    },
  },
};

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
globalThis.injectContextToChat = (text) => void state.context.push(text); // the newest document's example calls it

const extension = require(path.resolve(main));
const subscriptions = [];

const acts = {
  activate: () => extension.activate({ subscriptions }),
  deactivate: () => extension.deactivate?.(),
  open: ({ file, text }) => {
    documents.set(file, document(Uri.file(file), text));
    return events.opened.fire(documents.get(file));
  },
  look: ({ file }) => events.active.fire({ document: documents.get(file) }),
  save: ({ file, text }) => events.saved.fire(document(Uri.file(file), text)),
  type: ({ text }) => void typed.push(text),
  command: ({ id, args }) => commands.get(id)(...(args ?? [])),
  chat: ({ id, prompt, answer }) => {
    const said = [];
    state.chat.push(said);
    const model = answer && {
      sendRequest: async (messages) => {
        state.asked.push(...messages.map((message) => message.content));
        return { text: (async function* () { yield answer; })() }; // prettier-ignore
      },
    };
    return participants.get(id)({ prompt, model }, {}, { markdown: (text) => said.push(text) }, {});
  },
  state: () => state,
};

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: act, ...given } = JSON.parse(line);
    let answer;
    try {
      const result = await acts[act](given);
      answer = { result: act === "state" ? result : null };
    } catch (error) {
      answer = { error: String(error?.stack ?? error) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  process.exit(0);
})();
