"""The table of model providers, and the choice of the one to use. `doctor` shows the choice and the reason.

To add a provider, add a file named after it with a class that implements `Model` and two functions,
`find(access)` and `build(access)`; and a row in PROVIDERS. Settings, docs, install and estimates are
generated from the rows. The files are imported only when they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

if TYPE_CHECKING:  # settings are made of the rows, and every command reads settings
    from claude_mem.model.jobs import CallCost
    from claude_mem.model.memory import Failure


class Prompt(Struct, frozen=True):
    """Instructions that never change (so that providers can cache them), then what this call is about."""

    system: str
    user: str
    purpose: str = "observe"  # or "summarize": a setting may give each its own model


class Reply(Struct, frozen=True):
    """A model's reply, not yet parsed."""

    text: str
    spend: CallCost


class Model(Protocol):
    """A language model, called in any way. Every adapter passes the contract suite in the tests."""

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        """Calls the model. Blocks, but returns within the deadline, whatever the other side does. Never
        raises."""
        ...

    def close(self) -> None:
        """Closes connections and ends child processes; a later call may open them again."""
        ...


class Access(Struct, frozen=True):
    """The user's settings for the provider, whichever is used."""

    model: str | None = None
    summary_model: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    claude_path: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)  # those of VARIABLES that are set
    is_chosen: bool = False  # the user named the provider: then it may use a key that is merely there

    def __repr__(self) -> str:
        """Without the key and the variables, which may contain one, because it may be logged."""
        shown = {name: getattr(self, name) for name in ("model", "summary_model", "base_url", "claude_path")}
        return f"Access({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class Ready(Struct, frozen=True):
    why: str


class Incomplete(Struct, frozen=True):
    """A provider that is only partly configured."""

    why: str


class Absent(Struct, frozen=True):
    why: str = ""  # a sentence that says what to do, where there is something


Found = Ready | Incomplete | Absent


class Provider(Struct, frozen=True):
    name: str  # as in CLAUDE_MEM_PROVIDER; its file here has the same name
    title: str  # in words: who is called
    key_variable: str | None = None  # of others: taken when there is no CLAUDE_MEM_API_KEY
    url_variable: str | None = None  # likewise, CLAUDE_MEM_BASE_URL
    usual_model: str | None = None  # called where CLAUDE_MEM_MODEL names none, by the name it is priced under

    def find(self, access: Access) -> Found:
        found: Found = self._module().find(access)
        return found

    def build(self, access: Access) -> Model:
        model: Model = self._module().build(access)
        return model

    def _module(self) -> ModuleType:
        return import_module(f"claude_mem.providers.{self.name}")


CHOSEN = "chosen by the setting CLAUDE_MEM_PROVIDER"
CHEAP_CLAUDE = "claude-haiku-5-5"
MOST_OUTPUT = 8192
"""The maximum tokens of a reply, including the thinking that some models do without being asked."""

PROVIDERS = (
    Provider("claude", "your own Claude Code", usual_model=CHEAP_CLAUDE),
    Provider("anthropic", "Anthropic's API", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", CHEAP_CLAUDE),
    Provider("openai", "your endpoint", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
)
BY_NAME = {each.name: each for each in PROVIDERS}
KEY_VARIABLES = tuple(each.key_variable for each in PROVIDERS if each.key_variable)
URL_VARIABLES = tuple(each.url_variable for each in PROVIDERS if each.url_variable)
VARIABLES = (*KEY_VARIABLES, *URL_VARIABLES)


class Choice(Struct, frozen=True):
    provider: str  # the name of one of them, or offline
    why: str
    problem: str | None = None  # why it cannot observe, as a sentence


def choose(name: str, access: Access) -> Choice:
    """The user's choice; or, with `auto`, the user's own Claude Code if it is logged in. Nothing that costs
    money is used because a key for it happens to be there."""
    if name == "offline":
        return Choice(name, CHOSEN)
    if name != "auto":
        found = BY_NAME[name].find(replace(access, is_chosen=True))
        return Choice(name, CHOSEN, None if isinstance(found, Ready) else found.why)
    own = BY_NAME["claude"].find(access)
    if isinstance(own, Ready):
        return Choice("claude", own.why)
    others = (each for each in PROVIDERS if each.name != "claude")
    unused = [each.name for each in others if not isinstance(each.find(access), Absent)]
    hint = f"To use {' or '.join(unused)}, set CLAUDE_MEM_PROVIDER." if unused else ""
    return Choice("offline", " ".join(filter(None, ["no model is in use.", own.why, hint])))
