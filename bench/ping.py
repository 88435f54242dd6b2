"""A second client of the Redis server: PINGs in a loop on its own connection until stdin closes.

It is a separate process, so that neither our interpreter lock nor our event loop counts as waiting
for the server.

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
    """Ping until standard input is closed."""
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
