"""A collector that accepts and is silent holds the end of a process up for a moment only."""

import socket
import threading

from service.otel import SentSpans


def test_a_silent_collector_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        # the library itself would wait this long
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces"
        spans = SentSpans("api", url, answer_s=60)
        spans.add("a request", 0.1, {})

        def refuse() -> None:
            with silent.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 400 No\r\ncontent-length: 0\r\n\r\n")

        late = threading.Timer(20, refuse)
        late.start()
        spans.close(within_s=0.1)
        is_given_up = late.is_alive()
        late.cancel()
        late.join()
        assert is_given_up
        refuse()
