"""How git is run on a repository that may be a stranger's, whose configuration names programs: none of them
runs. No hooks, no pager, no monitor, no fetch of what a partial clone lacks; no bare repository that was
planted in a folder is entered."""

from __future__ import annotations

from collections.abc import Mapping

OPTIONS = (
    *("-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"),
    *("-c", "safe.bareRepository=explicit", "-c", "diff.relative=false"),
    *("-c", "i18n.logOutputEncoding=UTF-8"),
    *("--no-optional-locks", "--no-pager", "--literal-pathspecs"),
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_PASSED_ON = ("PATH", "HOME", "XDG_CONFIG_HOME")  # the user's own configuration says whom git trusts


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Of what is given, only what git needs."""
    return {name: given[name] for name in _PASSED_ON if name in given} | _ENVIRONMENT
