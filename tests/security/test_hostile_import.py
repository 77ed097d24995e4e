"""A stranger's export, imported: it comes back as a quotation with its origin, holds no secret, and changes nothing
of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.contract.recalling import Worker
from tests.e2e.test_travelling import lines, run
from tests.security.test_poisoned_recall import CANARY, NEXT, POISON

from claude_mem.capture import tags
from claude_mem.recall.fence import SAID_OF_ALL, TAG
from claude_mem.testing import hooks, payloads, workers

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
HERE = payloads.CWD if hasattr(payloads, "CWD") else "/home/u/proj"
