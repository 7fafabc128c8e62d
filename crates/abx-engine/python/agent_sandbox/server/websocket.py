"""The server's side of one WebSocket (RFC 6455), over a connected socket: text messages, in and out."""

import base64
import hashlib
import struct
import threading

LONGEST = 1 << 20
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_KEY_ENDS_WITH = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Closed(Exception):
    """The other side has closed, or does not speak the protocol."""


class WebSocket:
    """An accepted connection."""

    def __init__(self, reader, writer):
        self._reader, self._writer = reader, writer
        self._lock = threading.Lock()

    @staticmethod
    def answer(key):
        """What `Sec-WebSocket-Accept` says to a `Sec-WebSocket-Key`."""
        return base64.b64encode(hashlib.sha1(key.strip().encode() + _KEY_ENDS_WITH).digest()).decode()

    def receive(self):
        """The next message as bytes. Pings are answered on the way."""
        message = b""
        while True:
            last, kind, payload = self._frame()
            if kind == CLOSE:
                self.close(1000)
                raise Closed()
            if kind == PING:
                self._send(PONG, payload)
            elif kind in (0, TEXT, BINARY):
                message += payload
                if len(message) > LONGEST:
                    self.close(1009, "too long")
                    raise Closed()
                if last:
                    return message

    def send(self, text):
        """Sends a text message."""
        self._send(TEXT, text.encode("utf-8", "replace"))

    def close(self, code, reason=""):
        """Says goodbye; who is gone already does not hear it."""
        try:
            self._send(CLOSE, struct.pack("!H", code) + reason.encode()[:120])
        except (OSError, ValueError):
            pass

    def _send(self, kind, payload):
        length = len(payload)
        if length < 126:
            head = struct.pack("!BB", 0x80 | kind, length)
        elif length < 1 << 16:
            head = struct.pack("!BBH", 0x80 | kind, 126, length)
        else:
            head = struct.pack("!BBQ", 0x80 | kind, 127, length)
        with self._lock:
            self._writer.write(head + payload)
            self._writer.flush()

    def _frame(self):
        first, second = self._read(2)
        length = second & 0x7F
        if length > 125:
            length, = struct.unpack("!H", self._read(2)) if length == 126 else struct.unpack("!Q", self._read(8))
        if first & 0x70 or not second & 0x80 or length > LONGEST:
            self.close(1002 if length <= LONGEST else 1009)
            raise Closed()
        mask = self._read(4)
        payload = self._read(length)
        if payload:
            long_mask = int.from_bytes((mask * (length // 4 + 1))[:length], "big")
            payload = (int.from_bytes(payload, "big") ^ long_mask).to_bytes(length, "big")
        return bool(first & 0x80), first & 0x0F, payload

    def _read(self, length):
        data = self._reader.read(length)
        if data is None or len(data) < length:
            raise Closed()
        return data
