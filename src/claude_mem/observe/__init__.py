"""From events to memory: how a batch's prompt is built, and how the reply is parsed.

`tool_calls` reads each call once; `prompt` builds the question (`mode`, `event_text`, `digest`, `shell`);
`reply` reads the answer, `evidence` corrects it by what the tools themselves show; `observer` puts them
together within a budget. `offline/` does without a model. All but `observer` are pure.
"""
