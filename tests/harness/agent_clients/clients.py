"""How each real coding agent is configured for a scripted model, called without a terminal, and asked to use
its tools. Nothing here is about claude-mem: this is what a user of the agent has in a home."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tests.harness.agent_clients.packages import PACKAGES, installed
from tests.harness.model_script import Use

Files = Mapping[str, str | dict[str, Any]]
"""By their paths in the home: text, or what is written as JSON."""


class Client(ABC):
    name: str  # of the agent, of its command and of its package
    title: str
    needs: tuple[str, ...] = ()  # other packages
    rewrites: tuple[str, ...] = ()  # those of `files` that it changes whenever it runs

    @property
    def version(self) -> str:
        return PACKAGES[self.name].version

    def prepare(self) -> Self:
        """Installed: afterwards it needs no network."""
        for name in (self.name, *self.needs):
            installed(name)
        return self

    def program(self, home: Path) -> Path:
        return installed(self.name)

    @abstractmethod
    def files(self, home: Path, url: str) -> Files:
        """The user's own settings, with the model server at `url`."""

    def environment(self, url: str) -> dict[str, str]:
        return {}

    @abstractmethod
    def arguments(self, prompt: str) -> list[str]:
        """Of its command, for one session that may do everything."""

    @abstractmethod
    def write(self, path: Path, text: str) -> Use: ...

    @abstractmethod
    def edit(self, path: Path, old: str, new: str) -> Use: ...

    @abstractmethod
    def read(self, path: Path) -> Use: ...

    @abstractmethod
    def shell(self, command: str) -> Use: ...

    @abstractmethod
    def tool_of_server(self, server: str, name: str, given: Mapping[str, Any]) -> tuple[Use, ...]:
        """A tool of an MCP server. Some agents have their model look for it first."""


class Codex(Client):
    """Reads files by the shell alone. Which tools it offers depends on the model's name."""

    name, title = "codex", "Codex CLI"

    def files(self, home: Path, url: str) -> Files:
        lines = (
            'model = "gpt-5.5"',
            'model_provider = "scripted"',
            "",
            "# The user's own.",
            "[model_providers.scripted]",
            'name = "scripted"',
            f'base_url = "{url}/v1"',
            'wire_api = "responses"',
            'env_key = "SCRIPTED_KEY"',
            "",
            f'[projects."{home / "parcel"}"]',  # else it adds that itself
            'trust_level = "trusted"',
        )
        return {".codex/config.toml": "\n".join(lines) + "\n"}

    def environment(self, url: str) -> dict[str, str]:
        return {"SCRIPTED_KEY": "dummy"}

    def arguments(self, prompt: str) -> list[str]:
        # A person trusts hooks in a dialog; without a terminal there is none.
        return [
            "exec",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
            prompt,
        ]

    def write(self, path: Path, text: str) -> Use:
        added = "".join(f"+{line}\n" for line in text.splitlines())
        return self._patch(f"*** Add File: {path.name}\n{added}")

    def edit(self, path: Path, old: str, new: str) -> Use:
        return self._patch(f"*** Update File: {path.name}\n@@\n-{old}\n+{new}\n")

    def _patch(self, change: str) -> Use:
        return Use("apply_patch", {"input": f"*** Begin Patch\n{change}*** End Patch"})

    def read(self, path: Path) -> Use:
        return self.shell(f"cat {path.name}")

    def shell(self, command: str) -> Use:
        return Use("exec_command", {"cmd": command})

    def tool_of_server(self, server: str, name: str, given: Mapping[str, Any]) -> tuple[Use, ...]:
        return (Use("tool_search", {"query": f"{server} {name}"}),)  # it then offers them


class Copilot(Client):
    name, title = "copilot", "Copilot CLI"
    rewrites = (".copilot/config.json",)

    def files(self, home: Path, url: str) -> Files:
        # Only in a folder that it trusts does it run the hooks of a project.
        return {".copilot/config.json": {"banner": "never", "trustedFolders": [str(home / "parcel")]}}

    def environment(self, url: str) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": "scripted",
            # It unpacks itself there, 235 MB: once, not in every home.
            "XDG_CACHE_HOME": str(PACKAGES[self.name].folder / "cache"),
        }

    def arguments(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--allow-all-tools"]

    def write(self, path: Path, text: str) -> Use:
        return Use("create", {"path": str(path), "file_text": text})

    def edit(self, path: Path, old: str, new: str) -> Use:
        return Use("edit", {"path": str(path), "old_str": old, "new_str": new})

    def read(self, path: Path) -> Use:
        return Use("view", {"path": str(path)})

    def shell(self, command: str) -> Use:
        return Use("bash", {"command": command, "description": "Run it"})

    def tool_of_server(self, server: str, name: str, given: Mapping[str, Any]) -> tuple[Use, ...]:
        return (Use(f"{server}-{name}", given),)


class Gemini(Client):
    name, title = "gemini", "Gemini CLI"

    def files(self, home: Path, url: str) -> Files:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        return {".gemini/settings.json": settings}

    def environment(self, url: str) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy"}

    def arguments(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--yolo", "--skip-trust", "-m", "gemini-2.5-pro"]

    def write(self, path: Path, text: str) -> Use:
        return Use("write_file", {"file_path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> Use:
        given = {"file_path": str(path), "old_string": old, "new_string": new}
        return Use("replace", given | {"instruction": "Mend it."})

    def read(self, path: Path) -> Use:
        return Use("read_file", {"file_path": str(path)})

    def shell(self, command: str) -> Use:
        return Use("run_shell_command", {"command": command, "description": "Run it"})

    def tool_of_server(self, server: str, name: str, given: Mapping[str, Any]) -> tuple[Use, ...]:
        return (Use(f"mcp_{server}_{name}", given),)


class Qwen(Gemini):
    """Began as Gemini CLI, and still has the names of its tools."""

    name, title = "qwen", "Qwen Code"
    needs = ("node",)

    def program(self, home: Path) -> Path:
        """With its own Node: it wants a newer one than most systems have."""
        script = home / "qwen.sh"
        script.write_text(f'#!/bin/sh\nexec "{installed("node")}" "{installed(self.name)}" "$@"\n')
        script.chmod(0o755)
        return script

    def files(self, home: Path, url: str) -> Files:
        settings = {
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"enableAutoUpdate": False},
            "$version": 4,  # else it adds that itself
            "privacy": {"usageStatisticsEnabled": False},
        }
        return {".qwen/settings.json": settings}

    def environment(self, url: str) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "dummy"}

    def arguments(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--yolo", "-m", "scripted"]

    def edit(self, path: Path, old: str, new: str) -> Use:
        return Use("edit", {"file_path": str(path), "old_string": old, "new_string": new})

    def shell(self, command: str) -> Use:
        given = {"command": command, "description": "Run it", "is_background": False}
        return Use("run_shell_command", given)

    def tool_of_server(self, server: str, name: str, given: Mapping[str, Any]) -> tuple[Use, ...]:
        return (Use("tool_call", {"name": f"mcp__{server}__{name}", "arguments": given}),)


class OpenCode(Client):
    """Asks for a title first, in a call of its own."""

    name, title = "opencode", "OpenCode"

    def files(self, home: Path, url: str) -> Files:
        settings = {
            "$schema": "https://opencode.ai/config.json",
            "provider": {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": "dummy"}}},
            "model": "anthropic/claude-sonnet-4-5",
            "small_model": "anthropic/claude-haiku-4-5",
            "autoupdate": False,
            "share": "disabled",
        }
        return {".config/opencode/opencode.json": settings}

    def environment(self, url: str) -> dict[str, str]:
        return {
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            # It looks for its plugin package, and would try for 70 s without a network.
            "npm_config_fetch_retries": "0",
        }

    def arguments(self, prompt: str) -> list[str]:
        return ["run", prompt]

    def write(self, path: Path, text: str) -> Use:
        return Use("write", {"filePath": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> Use:
        return Use("edit", {"filePath": str(path), "oldString": old, "newString": new})

    def read(self, path: Path) -> Use:
        return Use("read", {"filePath": str(path)})

    def shell(self, command: str) -> Use:
        return Use("bash", {"command": command, "description": "Run it"})

    def tool_of_server(self, server: str, name: str, given: Mapping[str, Any]) -> tuple[Use, ...]:
        return (Use(f"{server}_{name}", given),)


class Droid(Client):
    name, title = "droid", "Factory droid"

    def files(self, home: Path, url: str) -> Files:
        model = {
            "model": "scripted",
            "displayName": "Scripted",
            "baseUrl": f"{url}/v1",
            "apiKey": "dummy",
            "provider": "generic-chat-completion-api",
            "maxOutputTokens": 4096,
        }
        return {".factory/settings.json": {"customModels": [model]}}

    def environment(self, url: str) -> dict[str, str]:
        return {"FACTORY_API_KEY": "fk-dummy"}

    def arguments(self, prompt: str) -> list[str]:
        return ["exec", "-m", "custom:Scripted-0", "--skip-permissions-unsafe", prompt]

    def write(self, path: Path, text: str) -> Use:
        return Use("Create", {"file_path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> Use:
        return Use("Edit", {"file_path": str(path), "old_str": old, "new_str": new})

    def read(self, path: Path) -> Use:
        return Use("Read", {"file_path": str(path)})

    def shell(self, command: str) -> Use:
        risk = {"riskLevel": "low", "riskLevelReason": "It is a test.", "timeout": 60}
        return Use("Execute", {"command": command, "summary": "Run it"} | risk)

    def tool_of_server(self, server: str, name: str, given: Mapping[str, Any]) -> tuple[Use, ...]:
        tool = f"{server}___{name}"
        return Use("ToolSearch", {"query": f"select:{tool}"}), Use(tool, given)


class Cline(Client):
    """Leaves a daemon running."""

    name, title = "cline", "Cline CLI"
    rewrites = (".cline/data/settings/providers.json",)

    def files(self, home: Path, url: str) -> Files:
        settings = {
            "provider": "openai-compatible",
            "apiKey": "dummy",
            "model": "scripted",
            "baseUrl": f"{url}/v1",
        }
        at = {"updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
        providers = {
            "version": 1,
            "lastUsedProvider": "openai-compatible",
            "modes": {},
            "providers": {"openai-compatible": {"settings": settings} | at},
        }
        return {".cline/data/settings/providers.json": providers}

    def arguments(self, prompt: str) -> list[str]:
        return [prompt]

    def write(self, path: Path, text: str) -> Use:
        return Use("editor", {"path": str(path), "new_text": text})

    def edit(self, path: Path, old: str, new: str) -> Use:
        return Use("editor", {"path": str(path), "old_text": old, "new_text": new})

    def read(self, path: Path) -> Use:
        return Use("read_files", {"files": [{"path": str(path)}]})

    def shell(self, command: str) -> Use:
        return Use("run_commands", {"commands": [command]})

    def tool_of_server(self, server: str, name: str, given: Mapping[str, Any]) -> tuple[Use, ...]:
        return (Use(f"{server}__{name}", given),)


CLIENTS: dict[str, Client] = {
    each.name: each for each in (Codex(), Copilot(), Gemini(), OpenCode(), Qwen(), Droid(), Cline())
}
