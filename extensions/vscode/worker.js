"use strict";
// Talks to the worker of a data directory: over its socket, else over TCP with the token. Reports are sent one after
// another, in the background; what cannot be sent now waits, within bounds.

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");

const DEADLINE_MS = 2000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;
const MOST_WAITING = 500;
const MOST_BYTES = 10 * 1024 * 1024;

class Unreachable extends Error {}

class Refused extends Error {
  constructor(status, error) {
    super(error.message || `The worker returned status ${status}.`);
    this.status = status;
    this.code = error.code;
  }
}

function dataDirectory(configured) {
  return configured || process.env.CLAUDE_MEM_DATA_DIR || path.join(os.homedir(), ".claude-mem");
}

class Worker {
  // directory: the data directory; command: what starts a worker; tell: shows a person one sentence.
  constructor({ directory, command, tell }) {
    this.directory = directory;
    this.command = command;
    this.tell = tell;
    this.waiting = [];
    this.sending = Promise.resolve();
    this.retryMs = FIRST_RETRY_MS;
    this.retry = null;
    this.wasStarted = false;
    this.isClosed = false;
  }

  // The answer, read: an object, or text. Throws Unreachable, Refused.
  async ask(method, where, body) {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    let last = new Unreachable("The worker is not running.");
    for (const address of this.addresses()) {
      try {
        return await request(address, method, where, sent);
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        last = error;
      }
    }
    throw last;
  }

  // As `ask`, for a person who waits: a worker that is not running is started, and the question is put again.
  async query(method, where, body) {
    for (let wait = FIRST_RETRY_MS; ; wait *= 2) {
      try {
        return await this.ask(method, where, body);
      } catch (error) {
        if (!(error instanceof Unreachable) || !(await this.start()) || wait > 8 * FIRST_RETRY_MS) throw error;
        await new Promise((done) => setTimeout(done, wait));
      }
    }
  }

  // Reports something, in order. Nobody waits for it, and it never throws; resolves when it was sent or has to wait.
  send(where, body) {
    this.waiting.push([where, body]);
    if (this.waiting.length > MOST_WAITING) this.waiting.shift();
    return this.flush();
  }

  flush() {
    this.sending = this.sending.then(() => this.sendAll());
    return this.sending;
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.retry);
  }

  async sendAll() {
    while (this.waiting.length) {
      const [where, body] = this.waiting[0];
      try {
        await this.ask("POST", where, body);
      } catch (error) {
        if (error instanceof Unreachable) return this.later();
        // Refused: it would be refused again. An answer that did not come in time: it may have been stored.
      }
      this.waiting.shift();
      this.retryMs = FIRST_RETRY_MS;
    }
  }

  async later() {
    if (this.isClosed || !(await this.start())) return;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.flush(), this.retryMs);
    this.retry.unref?.();
    this.retryMs = Math.min(2 * this.retryMs, LAST_RETRY_MS);
  }

  // Starts a worker, once, if the command is there, and says so. False: there is none to be had.
  start() {
    this.started ??= new Promise((done) => {
      const child = spawn(this.command, ["worker", "start"], {
        detached: true,
        stdio: "ignore",
        env: { ...process.env, CLAUDE_MEM_DATA_DIR: this.directory },
      });
      child.once("spawn", () => {
        child.unref();
        this.tell("claude-mem: the worker was not running and is starting now.");
        done(true);
      });
      child.once("error", () => {
        this.tell("claude-mem is not running, and the claude-mem command was not found. Nothing is recorded in this window. Install claude-mem, or set claude-mem.command.");
        done(false);
      });
    });
    return this.started;
  }

  // Where it may be reached, the best first. Looked up anew each time: a new worker may have another port.
  addresses() {
    const found = [];
    if (process.platform !== "win32") found.push({ socketPath: path.join(this.directory, "worker.sock"), headers: {} });
    try {
      const { port } = JSON.parse(fs.readFileSync(path.join(this.directory, "worker.json"), "utf8"));
      const token = fs.readFileSync(path.join(this.directory, "token"), "utf8").trim();
      found.push({ host: "127.0.0.1", port, headers: { Authorization: `Bearer ${token}` } });
    } catch {
      // It was never started, or has not come up yet.
    }
    return found;
  }
}

function request(address, method, where, sent) {
  return new Promise((done, fail) => {
    const headers = { ...address.headers, ...(sent === undefined ? {} : { "Content-Type": "application/json" }) };
    const asked = http.request({ ...address, method, path: where, headers, timeout: DEADLINE_MS }, (answer) => {
      const parts = [];
      let size = 0;
      answer.on("data", (part) => {
        size += part.length;
        if (size > MOST_BYTES) answer.destroy(new Error("The response is too long."));
        else parts.push(part);
      });
      answer.on("error", fail);
      answer.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8");
        const isJson = (answer.headers["content-type"] || "").startsWith("application/json");
        const said = isJson ? parsed(text) : text;
        if (answer.statusCode < 300) done(said);
        else fail(new Refused(answer.statusCode, said?.error || {}));
      });
    });
    let connected = false;
    asked.on("socket", (socket) => socket.once("connect", () => (connected = true)));
    asked.on("timeout", () => asked.destroy(new Error("The worker did not answer in time.")));
    asked.on("error", (error) => fail(connected ? error : new Unreachable(error.message)));
    asked.end(sent);
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

module.exports = { Worker, Unreachable, Refused, dataDirectory };
