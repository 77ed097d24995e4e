"""A terminal to type into and to read: a program in a tmux server of its own, gone when the `with` ends.

    with Terminal(["bash", "--norc"], cwd=project, env=env) as terminal:
        terminal.enter("claude")
        terminal.choose("Yes, I trust this folder")
        screen = terminal.wait_for("? for shortcuts")

Closing it closes the window on whatever runs there, which then gets a SIGHUP, as in any terminal.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PATIENCE_S = 180  # far more than anything takes; a screen that never comes fails
LOOK_AGAIN_S = 0.05
PRESS_AGAIN_S = 0.3


class Terminal:
    """One window."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 120,
        lines: int = 50,
    ) -> None:
        self._command, self._cwd = command, cwd
        # A tmux that finds itself inside another one's window behaves differently.
        self._env = {name: value for name, value in env.items() if not name.startswith("TMUX")}
        self._size = ("-x", str(columns), "-y", str(lines))

    def __enter__(self) -> Terminal:
        self._folder = tempfile.TemporaryDirectory(prefix="tmux-")
        where = ("-c", str(self._cwd))
        # Without these the client tells its user, sooner or later, how to configure tmux.
        set_on = [
            word for name in ("focus-events", "mouse") for word in (";", "set-option", "-g", name, "on")
        ]
        self._tmux("new-session", "-d", *self._size, *where, *self._command, *set_on)
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
        self._folder.cleanup()

    def type(self, text: str) -> None:
        """Letter by letter, without an end of line."""
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: Enter, Escape, Down, C-c."""
        self._tmux("send-keys", *keys)

    def enter(self, text: str) -> None:
        """Type a line, see it, send it off: an Enter in the same breath would be taken for pasted text."""
        already = self.screen().count(text)
        self.type(text)
        self.wait_until(lambda screen: screen.count(text) > already, repr(text))
        self.press("Enter")

    def choose(
        self, option: str, *, unless: Callable[[str], bool] = lambda _: False, mark: str = "❯"
    ) -> None:
        """Wait for a menu with this option, move the mark to it and confirm. A menu that has only just opened
        takes no Enter yet (it may have been meant for what was there before), so that is pressed again, until
        the option is gone, or the screen says that the menu is."""
        marked = f"{mark} {option}"
        screen = self.wait_for(option)
        deadline = time.monotonic() + PATIENCE_S
        while option in screen and not unless(screen):
            assert time.monotonic() < deadline, f"{option!r} cannot be chosen:\n{screen}"
            if marked in screen:
                self.press("Enter")
                screen = self._within(PRESS_AGAIN_S, lambda screen: option not in screen)
            else:
                self.press("Down")
                screen = self._within(PRESS_AGAIN_S, lambda screen: marked in screen)

    def resize(self, columns: int, lines: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def screen(self) -> str:
        """What a person sees now."""
        return self._tmux("capture-pane", "-p").replace("\N{NO-BREAK SPACE}", " ")

    def wait_for(self, text: str) -> str:
        """The screen, as soon as it shows `text`."""
        return self.wait_until(lambda screen: text in screen, repr(text))

    def wait_until(self, shown: Callable[[str], bool], what: str) -> str:
        """The screen, as soon as it is as it should be."""
        screen = self._within(PATIENCE_S, shown)
        assert shown(screen), f"{what}: not on the screen within {PATIENCE_S} s, but\n{screen}"
        return screen

    def close(self) -> None:
        """Close the window; nothing is left of the tmux server when this returns."""
        deadline = time.monotonic() + PATIENCE_S
        while self._run("kill-server").returncode == 0:
            assert time.monotonic() < deadline, "the tmux server does not end"

    def _within(self, seconds: float, shown: Callable[[str], bool]) -> str:
        """The screen as soon as it is as wanted, or as it is when the time is over. Nobody tells us when
        another program draws, so it is looked at again and again."""
        deadline = time.monotonic() + seconds
        while not shown(screen := self.screen()) and time.monotonic() < deadline:
            time.sleep(LOOK_AGAIN_S)
        return screen

    def _tmux(self, *arguments: str) -> str:
        done = self._run(*arguments)
        assert done.returncode == 0, f"tmux {arguments[0]}: {done.stderr}"
        return done.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        tmux = ["tmux", "-S", f"{self._folder.name}/socket", "-f", "/dev/null"]
        return subprocess.run([*tmux, *arguments], env=self._env, capture_output=True, text=True, check=False)
