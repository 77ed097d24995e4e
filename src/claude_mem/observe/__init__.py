"""Turns events into memory: builds a batch's prompt and parses the reply.

`tool_calls` parses each call once; `prompt` builds the prompt (with `mode`, `event_text`, `condense`,
`shell`); `reply` parses the reply, `evidence` corrects it by what the tools actually did; `observer` combines
them within a budget. `offline/` works without a model. All except `observer` are pure.
"""
