"""Measures how many realistic secrets are hidden, by group, and how many look-alikes; and detect-secrets.

    python benchmarks/secret_corpus.py
    python benchmarks/secret_corpus.py --misses
    python benchmarks/secret_corpus.py --no-rival

The corpus is our own: templates in `tests/harness/secret_corpus`, random values by seed. A secret is hidden
when no eight characters of it are left of what a hook would store; found by detect-secrets when it reports
anything in the text. It is installed into `build/detect-secrets` once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path

from tests.harness import payloads
from tests.harness.secret_corpus.cases import lookalikes, secret_cases

from claude_mem.privacy import scrub, suspect
from measure import table

RIVAL = "detect-secrets==1.5.0"
HOME = Path(__file__).parents[1] / "build" / "detect-secrets"
SCAN = """
import json, os, sys, tempfile
from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings
found = []
with default_settings(), tempfile.TemporaryDirectory() as folder:
    for text in json.load(sys.stdin):
        path = os.path.join(folder, "stdout.txt")
        with open(path, "w") as file:
            file.write(text)
        secrets = SecretsCollection()
        secrets.scan_file(path)
        found.append(bool(secrets))
json.dump(found, sys.stdout)
"""


def kept(text: str) -> str:
    if not suspect.is_suspect(payloads.bash("toolu_1", stdout=text)):
        return text
    clean, _ = scrub.scrub({"stdout": text}, field_cap=1 << 20)
    return str(clean["stdout"])


def rival(texts: list[str]) -> list[bool]:
    python = HOME / "bin" / "python"
    if not python.exists():
        venv.create(HOME, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", RIVAL], check=True)
    done = subprocess.run(
        [python, "-c", SCAN], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    return [bool(found) for found in json.loads(done.stdout)]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--misses", action="store_true", help="print what is not hidden")
    options.add_argument("--no-rival", action="store_true", help="do not run detect-secrets")
    args = options.parse_args()
    cases, harmless = secret_cases(args.rounds, args.seed), lookalikes(args.seed)
    rivals = [] if args.no_rival else rival([case.text for case in cases] + harmless)
    tried: Counter[tuple[str, bool]] = Counter()
    hidden: Counter[tuple[str, bool]] = Counter()
    found: Counter[str] = Counter()
    for number, case in enumerate(cases):
        left = kept(case.text)
        tried[case.group, case.held_out] += 1
        hidden[case.group, case.held_out] += not case.leaks(left)
        found[case.group] += bool(rivals) and rivals[number]
        if args.misses and case.leaks(left):
            print(f"{case.group}: {left!r}")
    changed = [text for text in harmless if kept(text) != text]
    rows = [
        [
            group,
            *(f"{hidden[group, half]}/{tried[group, half]}" for half in (False, True)),
            f"{found[group]}/{tried[group, False] + tried[group, True]}" if rivals else "",
        ]
        for group in dict.fromkeys(case.group for case in cases)
    ]
    sums = [f"{sum(n for (_, half), n in hidden.items() if half is h)}" for h in (False, True)]
    of = [f"{sum(n for (_, half), n in tried.items() if half is h)}" for h in (False, True)]
    all_found = f"{found.total()}/{tried.total()}" if rivals else ""
    rows.append(["all", f"{sums[0]}/{of[0]}", f"{sums[1]}/{of[1]}", all_found])
    wrong = f"{sum(rivals[len(cases) :])}/{len(harmless)}" if rivals else ""
    rows.append(["look-alikes redacted", f"{len(changed)}/{len(harmless)}", "", wrong])
    print(table(["group", "hidden", "hidden, held out", RIVAL], rows))
    for text in changed:
        print(f"redacted without need: {text!r}")
    shares = [
        (hidden[g, False] + hidden[g, True]) / (tried[g, False] + tried[g, True])
        for g, _ in dict.fromkeys(tried)
    ]
    sys.exit(min(shares) < 0.92 or len(changed) > 0.03 * len(harmless))


if __name__ == "__main__":
    main()
