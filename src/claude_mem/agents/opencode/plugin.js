// claude-mem for OpenCode: each event goes to the hook (COMMAND, above), as Claude Code would send it. What the
// hook has to say to the model is pushed to the system prompt of the session's next requests.
import { spawn, spawnSync } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const WITHIN_MS = 10_000
const DATABASE = join(process.env.XDG_DATA_HOME || join(homedir(), ".local/share"), "opencode/opencode.db")
const INTERNAL = /title generator|summarizing conversations/i // OpenCode's own agents, by their instructions

export const ClaudeMem = async ({ directory }) => {
  const sessions = new Map() // id: { injected, prompt, said } of the turn
  const children = new Set() // subagents' sessions: their parents report what came of them
  const session = (id) => sessions.get(id) ?? sessions.set(id, { injected: [] }).get(id)
  const line = (id, event, more) =>
    JSON.stringify({
      session_id: id, cwd: directory, prompt_id: session(id).prompt, hook_event_name: event, ...more,
    })

  const answerOf = (text) => {
    try {
      return JSON.parse(text).hookSpecificOutput?.additionalContext
    } catch {
      return undefined // nothing to say
    }
  }
  const report = (id, event, more) =>
    new Promise((done) => {
      let text = ""
      const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], timeout: WITHIN_MS })
      child.on("error", () => done(undefined))
      child.on("close", () => done(answerOf(text)))
      child.stdout.on("data", (part) => (text += part))
      child.stdin.on("error", () => {})
      child.stdin.end(line(id, event, more))
    })
  const reportNow = (id, event, more) => // nobody waits for an event's handler: OpenCode may end before it does
    spawnSync(COMMAND[0], COMMAND.slice(1), { input: line(id, event, more), timeout: WITHIN_MS })
  const keep = (id, text) => text && session(id).injected.push(text)

  return {
    "chat.message": async ({ sessionID: id, messageID }, { message, parts }) => {
      if (children.has(id)) return
      const isNew = !sessions.has(id)
      const words = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      const prompt = words.join("\n").trim().replace(/^"([^]*)"$/, "$1") // `opencode run` quotes it
      session(id).prompt = messageID ?? message?.id
      if (isNew) keep(id, await report(id, "SessionStart", { source: "startup" }))
      if (prompt) keep(id, await report(id, "UserPromptSubmit", { prompt }))
    },
    "tool.execute.before": async ({ tool, sessionID: id, callID }, { args }) => {
      if (children.has(id)) return
      keep(id, await report(id, "PreToolUse", { tool_name: tool, tool_input: args, tool_use_id: callID }))
    },
    "tool.execute.after": async ({ tool, sessionID: id, callID, args }, output) => {
      if (children.has(id)) return
      const answered = { output: output?.output ?? output, exit: output?.metadata?.exit }
      const use = { tool_name: tool, tool_input: args, tool_response: answered, tool_use_id: callID }
      await report(id, "PostToolUse", use)
    },
    "experimental.chat.system.transform": async ({ sessionID: id }, { system }) => {
      if (id && !INTERNAL.test(system[0] ?? "")) system.push(...(sessions.get(id)?.injected ?? []))
    },
    "experimental.text.complete": async ({ sessionID: id }, { text }) => {
      if (!children.has(id)) session(id).said = text
    },
    event: async ({ event: { type, properties: about } }) => {
      const id = about?.sessionID
      const part = about?.part
      if (type === "session.created" && about.info?.parentID) children.add(about.info.id)
      else if (type === "message.part.updated" && part?.type === "tool" && part.state?.status === "error") {
        if (children.has(part.sessionID)) return
        const use = { tool_name: part.tool, tool_input: part.state.input, tool_use_id: part.callID }
        reportNow(part.sessionID, "PostToolUseFailure", { ...use, error: part.state.error })
      } else if (!sessions.has(id) || children.has(id)) return
      else if (type === "session.compacted") {
        reportNow(id, "PostCompact", { trigger: "auto" })
        session(id).injected = []
        keep(id, await report(id, "SessionStart", { source: "compact" }))
      } else if (type === "session.idle") {
        reportNow(id, "Stop", { last_assistant_message: session(id).said, transcript_path: join(DATABASE, id) })
        session(id).said = undefined
      }
    },
  }
}
