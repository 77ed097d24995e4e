"""Real repositories with dates of our choice."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


class Made:
    """A repository in a directory of its own; `main` is its trunk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, at: int | None = None) -> str:
        who = {"NAME": "Ada", "EMAIL": "ada@example.com"}
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()},
        }
        if at is not None:
            environ |= {
                "GIT_AUTHOR_DATE": f"@{at // 1000} +0000",
                "GIT_COMMITTER_DATE": f"@{at // 1000} +0000",
            }
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, at: int, *files: str) -> str:
        """Change the files (or nothing) and commit; returns the commit."""
        for file in files:
            path = self.root / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{at}\n", encoding="utf-8")
            self.git("add", "--", file)
        self.git("commit", "-q", "--allow-empty", "-m", f"at {at}", at=at)
        return self.head()

    def sign(self) -> None:
        """Give the last commit a signature, which nobody made but some would have checked."""
        head, _, message = (self.git("cat-file", "commit", "HEAD") + "\n").partition("\n\n")
        signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
        signed = self.root.parent / "signed"
        signed.write_text(f"{head}\n{signature}\n\n{message}", encoding="utf-8")
        self.git("update-ref", "HEAD", self.git("hash-object", "-t", "commit", "-w", str(signed)))

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")
