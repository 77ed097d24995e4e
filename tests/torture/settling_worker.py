"""A worker whose observer only writes down which tool uses it was shown. All else is the product's own."""

import select
import socket
import sys

from claude_mem import settings
from claude_mem.model.memory import Findings, Observation
from claude_mem.serve import lock
from claude_mem.wiring import worker_services


def main() -> None:
    chosen = settings.load()
    with lock.hold(chosen.data_path("worker.lock")):
        chosen.data_path("hook.sock").unlink(missing_ok=True)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind("hook.sock")
        server.listen(128)
        parts = worker_services.build(chosen)
        store = parts.store
        while True:
            parts.intake.drain()
            while lease := store.queue.lease(20):
                shown = [
                    job.event.tool.use_id for job in lease.jobs if job.event.tool and job.event.tool.use_id
                ]
                memory = Findings((Observation("change", title=" ".join(shown)),)) if shown else Findings()
                store.queue.settle(lease, memory)
            ready, _, _ = select.select([server], [], [], 0.5)
            if ready:
                server.accept()[0].close()


if __name__ == "__main__":
    import os

    os.chdir(sys.argv[1])
    main()
