"""Gathers doctor's facts about recall: from the worker's own mouth while it runs, else from the disk."""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from typing import Any

from claude_mem.cli.doctor.facts import Recall
from claude_mem.hook import paths
from claude_mem.settings import Settings

ANSWER_WITHIN_S = 2.0
LOOK_AGAIN_S = 1.0
"""Whether an index that is behind catches up is seen by looking twice."""


def look(chosen: Settings) -> Recall:
    from claude_mem import wiring

    folder = chosen.place(paths.CONTEXT)
    before = None
    said = _health(chosen)
    if said and said["index"]["waiting"]:
        before = int(said["index"]["waiting"])
        time.sleep(LOOK_AGAIN_S)
        said = _health(chosen)
    if said:
        unindexed, unembedded = said["index"]["waiting"], said["vectors"]["waiting"]
    else:
        seen = wiring.survey(chosen, thorough=False)
        unindexed, unembedded = seen.unindexed, seen.unembedded
    vectors = said.get("vectors", {})
    return Recall(
        told_by_worker=bool(said),
        unindexed=unindexed,
        unindexed_before=before,
        wanted=chosen.vectors,
        vectors=vectors.get("state"),
        trouble=vectors.get("trouble"),
        unembedded=unembedded,
        model_there=find_spec("wordllama") is not None,
        chroma_there=find_spec("chromadb") is not None,
        chroma_url=chosen.chroma_url,
        context=str(folder),
        context_exists=folder.exists(),
        context_writable=folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK),
        told=sum(each["times"] for each in said["injected"].values()) if said else None,
    )


def _health(chosen: Settings) -> dict[str, Any]:
    from claude_mem.serve import control

    health = control.status(chosen.data_dir, deadline_s=ANSWER_WITHIN_S).health or {}
    found = health.get("recall")
    return found if isinstance(found, dict) else {}
