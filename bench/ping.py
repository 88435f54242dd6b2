"""Another client of the server: PING in a loop on a connection of its own, until its input closes.

A process, so that neither our interpreter lock nor our event loop counts as the server's wait.
    python -m bench.ping SOCKET  ->  {"pings": n, "longest_ms": ..., "p99_ms": ...}
"""

import json
import select
import socket
import sys
import time

import numpy as np

PAUSE_S = 0.0005


def main() -> None:
    """Ping until somebody closes our standard input."""
    waits = []
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
            started = time.perf_counter()
            connection.sendall(b"PING\r\n")
            connection.recv(64)
            waits.append((time.perf_counter() - started) * 1e3)
    summary = {
        "pings": len(waits),
        "longest_ms": max(waits),
        "p99_ms": float(np.percentile(waits, 99)),
    }
    print(json.dumps(summary), flush=True)


if __name__ == "__main__":
    main()
