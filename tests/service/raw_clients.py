"""Clients that send bytes as they like, and what they are told."""

import json
import re
import socket
from typing import Any

from service.http.codes import CODES
from service.http.problems import MEDIA_TYPE

Address = tuple[str, int]
HELLO = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"


def sent(address: Address, *parts: bytes) -> bytes:
    """Send parts one by one until the server hangs up or all are sent; return its answer."""
    with socket.create_connection(address, timeout=180) as client:
        try:
            for part in parts:
                client.sendall(part)
        except OSError:
            pass
        return received(client)


def received(client: socket.socket) -> bytes:
    parts = []
    try:
        while part := client.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def answered(client: socket.socket) -> bytes:
    """Return one whole answer: its head and its body may arrive one after the other."""
    got = b""
    while not _is_whole(got) and (part := client.recv(65_536)):
        got += part
    return got


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"^content-length: (\d+)", head.lower(), re.MULTILINE)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


def is_cut_off(client: socket.socket) -> bool:
    """Send up to 256 MB without an end of line; return whether the server hangs up meanwhile."""
    try:
        for _ in range(4_096):
            client.sendall(b"a" * 65_536)
    except OSError:
        return True
    return False


def check_refused(answer: bytes, code: str) -> dict[str, Any]:
    """Assert that the only answer is the problem ``code``, and that the connection ends with it."""
    head, _, body = answer.partition(b"\r\n\r\n")
    line, *headers = head.decode().lower().split("\r\n")
    named = dict(header.split(": ", 1) for header in headers)
    problem: dict[str, Any] = json.loads(body)
    assert problem["code"] == code
    assert int(line.split()[1]) == problem["status"] == CODES[code].status
    assert named["content-type"] == MEDIA_TYPE
    assert named["connection"] == "close"
    assert named["x-request-id"] == problem["request_id"]
    assert int(named["content-length"]) == len(body)
    return problem
