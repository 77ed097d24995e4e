"""A session written by hand: each line is one hook's report, in the real client's shape."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.harness import payloads

from claude_mem.agents import hook_payload
from claude_mem.model.events import Event
from claude_mem.model.memory import Batch, Findings, Observation
from claude_mem.observe.offline import Offline
from claude_mem.observe.tool_calls import parse_all

HOME = "/home/u/proj"


class Acting:
    """Collects reports, then hands them to the observer as one batch."""

    def __init__(self, request: str | None = None) -> None:
        self.events: list[Event] = []
        if request is not None:
            self._report(payloads.prompt(request))

    def _report(self, raw: bytes, **over: object) -> Acting:
        payload: dict[str, object] = json.loads(raw) | over
        number = len(self.events)
        name = str(payload["hook_event_name"])
        event = hook_payload.parse(name, payload, id=f"{number:06}", at=1_000 + number)
        assert event is not None
        self.events.append(event)
        return self

    def tool(self, name: str, given: object, got: object, **over: object) -> Acting:
        return self._report(
            payloads.payload(
                "PostToolUse",
                prompt_id="p-1",
                tool_name=name,
                tool_input=given,
                tool_response=got,
                tool_use_id=f"t-{len(self.events)}",
            ),
            **over,
        )

    def edit(self, path: str, *lines: str, start: int = 10, **over: object) -> Acting:
        """`lines` after their marks, as in `structuredPatch`."""
        patch = [{"oldStart": start, "oldLines": 3, "newStart": start, "newLines": 3, "lines": list(lines)}]
        file = f"{HOME}/{path}"
        return self.tool(
            "Edit",
            {"file_path": file, "old_string": "a", "new_string": "b", "replace_all": False},
            {"filePath": file, "structuredPatch": patch, "originalFile": None, "userModified": False},
            **over,
        )

    def write(self, path: str, content: str) -> Acting:
        file = path if path.startswith("/") else f"{HOME}/{path}"
        got = {"type": "create", "filePath": file, "content": content, "structuredPatch": []}
        return self.tool("Write", {"file_path": file, "content": content}, got)

    def read(self, path: str, content: str, start: int = 1) -> Acting:
        file = {"filePath": f"{HOME}/{path}", "content": content, "numLines": 9, "startLine": start}
        return self.tool("Read", {"file_path": f"{HOME}/{path}"}, {"type": "text", "file": file})

    def run(self, command: str, stdout: str = "", stderr: str = "") -> Acting:
        got = {"stdout": stdout, "stderr": stderr, "interrupted": False, "isImage": False}
        return self.tool("Bash", {"command": command, "description": ""}, got)

    def fail(self, command: str, said: str, code: int = 1) -> Acting:
        return self._report(
            payloads.failure(f"t-{len(self.events)}", f"Exit code {code}\n{said}"),
            tool_input={"command": command, "description": ""},
        )

    def grep(self, pattern: str, files: list[str] | None = None, content: str = "") -> Acting:
        got = {"mode": "content", "filenames": files or [], "content": content, "numFiles": len(files or [])}
        return self.tool("Grep", {"pattern": pattern}, got)

    def ask(self, request: str) -> Acting:
        return self._report(payloads.prompt(request))

    def stop(self, message: str) -> Acting:
        return self._report(payloads.stop(message))

    def privately(self) -> Acting:
        """The last report came from a private turn, and somebody forgot to take its text away."""
        last = self.events.pop()
        self.events.append(_private(last))
        return self

    def batch(self, recorded: tuple[str, ...] = ()) -> Batch:
        return Batch("proj", payloads.SESSION, tuple(self.events), recorded=recorded)

    def memory(self, recorded: tuple[str, ...] = ()) -> Findings:
        return observed(self.batch(recorded))

    def observations(self, recorded: tuple[str, ...] = ()) -> tuple[Observation, ...]:
        return self.memory(recorded).observations

    def only(self) -> Observation:
        (observation,) = self.observations()
        return observation


def observed(batch: Batch) -> Findings:
    return Offline().observe(batch, parse_all(batch.events))


def _private(event: Event) -> Event:
    from claude_mem.model.structs import replace

    return replace(event, private=True)


def everything(findings: Findings) -> str:
    """All text of the findings, to be searched for what must not be in it."""
    return repr(findings)


def shape(observation: Observation) -> Mapping[str, object]:
    return {name: getattr(observation, name) for name in observation.__struct_fields__}
