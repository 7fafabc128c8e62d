"""Joins a terminal over WebSocket, types, and prints what it hears: a client without a library.

    python3 join.py SESSION [TOKEN] < what to type
"""

import base64
import json
import os
import socket
import struct
import sys


def frame(payload):
    mask = os.urandom(4)
    length = len(payload)
    head = struct.pack("!BB", 0x81, 0x80 | length) if length < 126 else struct.pack("!BBH", 0x81, 0xFE, length)
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


def exactly(reader, length):
    data = reader.read(length)
    if len(data) < length:
        sys.exit("closed without a word")
    return data


session, token = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
connection = socket.create_connection(("127.0.0.1", 9001))
connection.sendall((
    "GET /pty?session_id=%s&token=%s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n"
    % (session, token, base64.b64encode(os.urandom(16)).decode())
).encode())
reader = connection.makefile("rb")
while reader.readline() not in (b"\r\n", b""):
    pass
heard = ""
while True:
    first, second = exactly(reader, 2)
    length = second & 0x7F
    if length == 126:
        length, = struct.unpack("!H", exactly(reader, 2))
    payload = exactly(reader, length)
    if first & 0x0F == 8:
        print("close", struct.unpack("!H", payload[:2])[0])
        break
    message = json.loads(payload)
    if message["type"] == "output":
        heard += message["data"]
        continue
    print(message["type"], message["event"])
    if message["event"] == "started":
        for typed in sys.stdin:
            connection.sendall(frame(typed.strip().encode()))
print(heard)
