"""Measures how a team's server finds the closest memories: with pgvector, and with vectors in its memory.

    python benchmarks/team_vectors.py                         20,000 and 100,000 memories in 20 projects
    python benchmarks/team_vectors.py --memories 300000 --projects 50
    python benchmarks/team_vectors.py --reads 5               a member of 5 of the projects

One PostgreSQL, one server process without its other parts: no text search, no model, no requests. Vectors are
random, of 256 dimensions, and written to their table directly; nothing but the comparison is measured. Each
process is new: `first` is its first search of all that the member reads, which reads the vectors into its
memory if PostgreSQL does not compare them. Then members search one project, and all they read, alternately.

`memory` is what the process has more after that than before the first search (PSS), PostgreSQL's buffers not
included: they are shared, and limited by `shared_buffers`. Processor time is of both.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np
import psycopg
from tests.harness import postgres_server, team_servers

from claude_mem.model.refs import Ref, wide_key
from claude_mem.store.postgres import PostgresStore
from claude_mem.store.team import Identity, acting_as
from claude_mem.vectors.builtin import ProjectVectors, packed
from claude_mem.vectors.indexer import NEAREST
from measure import machine, table
from team_servers import Fleet, pss_mib

DIMENSIONS = 256
OF_A_SESSION = 50
ADA = Identity(member="ada", machine="laptop", key_id=1, scopes=("read", "write", "admin"), admin=True)
HEAD = (
    "memories",
    "a project",
    "compared by",
    "memory, MiB",
    "first, ms",
    "a project: p50",
    "p95",
    "CPU",
    "all: p50",
    "p95",
    "CPU",
)


def fill(url: str, memories: int, projects: int, reads: int) -> None:
    with team_servers.opened(url) as store:
        store.directory.begin("ada", "laptop")
    chance = random.Random(5)
    drawn = np.random.default_rng(5)
    with psycopg.connect(url, autocommit=True, options="-c search_path=claude_mem,public") as db:
        db.execute(
            "INSERT INTO projects (key, name, root, created_at, created_at_epoch)"
            " SELECT 'p' || n, 'p' || n, '', '', n FROM generate_series(1, %s) AS n",
            [projects],
        )
        db.execute(
            "INSERT INTO sdk_sessions (claude_session_id, author, project, project_id, status, client,"
            " created_at, created_at_epoch, updated_at, updated_at_epoch)"
            " SELECT 's' || n, 'ada', 'p' || n, n, 'completed', 'x', '', n, '', n"
            " FROM generate_series(1, %s) AS n",
            [projects],
        )
        db.execute(
            "INSERT INTO team_grants (member, project_id, level) SELECT 'ada', id, 'read' FROM projects"
            " WHERE id <= %s ON CONFLICT DO NOTHING",
            [reads],
        )
        # The trigger would make this take minutes.
        db.execute("DROP EXTENSION vector CASCADE")
        with db.cursor().copy("COPY memory_vectors (project_id, memory_key, vector) FROM STDIN") as copy:
            project = 1
            for at in range(memories):
                if at % OF_A_SESSION == 0:  # as members share them: session after session
                    project = chance.randint(1, projects)
                key = wide_key(at // OF_A_SESSION + 1, Ref("observation", at + 1))
                copy.write_row((project, key, packed(drawn.standard_normal(DIMENSIONS).astype(np.float32))))
        db.execute("VACUUM ANALYZE")


def copied(url: str) -> float:
    """Seconds until PostgreSQL compares: the extension is created, and all vectors are copied."""
    began = time.monotonic()
    with team_servers.opened(url) as store:
        while store.embeddings.copy():
            pass
    took = time.monotonic() - began
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("VACUUM ANALYZE claude_mem.memory_halfvecs")
    return took


def in_a_process(url: str, postmaster: int, projects: int, searches: int) -> dict[str, float]:
    """Of a new one; see `_search`."""
    given = json.dumps([url, postmaster, projects, searches])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--child", given],
        check=True,
        stdout=subprocess.PIPE,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _search(url: str, postmaster: int, projects: int, searches: int) -> dict[str, float]:
    used = Fleet(url, postmaster=postmaster).used
    vectors = np.random.default_rng(9).standard_normal((2 * searches + 1, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with PostgresStore.open(url, clock=lambda: 0, server=True) as store:
        server = ProjectVectors(
            store.vectors,
            visible=lambda: [project.id for project in store.projects.newest(200)],
        )
        found: dict[str, float] = {}
        with acting_as(ADA):
            before = pss_mib(os.getpid())
            began = time.perf_counter()
            server.nearest(vectors[0], None, NEAREST)
            found["first"] = (time.perf_counter() - began) * 1_000
            for name in ("project", "all"):
                walls, cpu = [], used().postgres + time.process_time()
                for nth in range(searches):
                    wanted = 1 + nth % projects if name == "project" else None
                    began = time.perf_counter()
                    server.nearest(vectors[1 + nth], wanted, NEAREST)
                    walls.append((time.perf_counter() - began) * 1_000)
                walls.sort()
                found[f"{name} p50"] = statistics.median(walls)
                found[f"{name} p95"] = walls[int(len(walls) * 0.95)]
                found[f"{name} cpu"] = (used().postgres + time.process_time() - cpu) * 1_000 / searches
            found["memory"] = pss_mib(os.getpid()) - before
    return found


def row(memories: int, projects: int, by: str, found: dict[str, float]) -> tuple[str, ...]:
    return (
        f"{memories:,}",
        f"{memories // projects:,}",
        by,
        f"{found['memory']:.0f}",
        f"{found['first']:.0f}",
        *(f"{found[f'{name} {part}']:.1f}" for name in ("project", "all") for part in ("p50", "p95", "cpu")),
    )


def measured(memories: int, projects: int, reads: int, searches: int) -> list[tuple[str, ...]]:
    with postgres_server.running() as postgres:
        assert postgres.pid
        with psycopg.connect(postgres.url(), autocommit=True) as db:
            db.execute("CREATE DATABASE team")
        url = postgres.url("team")
        fill(url, memories, projects, reads)
        options = (url, postgres.pid, reads, searches)
        rows = [row(memories, projects, "the process", _without(options))]
        took = copied(url)
        rows.append(row(memories, projects, "pgvector", in_a_process(*options)))
        with psycopg.connect(url) as db:
            sizes = db.execute(
                "SELECT pg_total_relation_size('claude_mem.memory_vectors'),"
                " pg_total_relation_size('claude_mem.memory_halfvecs')"
            ).fetchone()
        assert sizes is not None
        print(
            f"{memories:,}: copied in {took:.0f} s; memory_vectors {sizes[0] / 2**20:.0f} MiB, "
            f"memory_halfvecs {sizes[1] / 2**20:.0f} MiB",
            flush=True,
        )
        return rows


def _without(options: tuple[str, int, int, int]) -> dict[str, float]:
    """A process that starts would create the extension: it is hidden from it."""
    with psycopg.connect(options[0], autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
        db.execute("ALTER TYPE halfvec RENAME TO hidden")
        try:
            return in_a_process(*options)
        finally:
            db.execute("ALTER TYPE hidden RENAME TO halfvec")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--projects", type=int, default=20)
    parser.add_argument("--reads", type=int, help="of so many projects the member reads (default: all)")
    parser.add_argument("--searches", type=int, default=40)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(_search(*json.loads(options.child))))
        return
    print(machine(), flush=True)
    rows = []
    for memories in options.memories:
        began = os.getloadavg()[0]
        rows += measured(memories, options.projects, options.reads or options.projects, options.searches)
        print(f"load {began:.0f} to {os.getloadavg()[0]:.0f}", flush=True)
    print(table(HEAD, rows))


if __name__ == "__main__":
    main()
