"""Read what untrusted code prints, without ever holding more than its limit."""

import threading
from collections.abc import Callable
from io import FileIO

CHUNK = 1 << 16
END_TIMEOUT_S = 5.0


class Drain:
    """Reads a pipe in a thread until all its writers are gone.

    Args:
        pipe: Reading end; closed here.
        limit_bytes: How much is kept; the next byte calls `on_flood`.
        on_flood: Called once from the thread.
    """

    def __init__(self, pipe: FileIO, limit_bytes: int, on_flood: Callable[[], None]) -> None:
        self._pipe, self._limit, self._on_flood = pipe, limit_bytes, on_flood
        self._kept = bytearray()
        self.flooded = False
        self._thread = threading.Thread(target=self._read, name="openrebench-drain", daemon=True)
        self._thread.start()

    @property
    def kept(self) -> bytes:
        """What was written so far, cut at the limit."""
        return bytes(self._kept)

    def finish(self) -> None:
        """Wait for the last writer to close; call when the writers have been killed."""
        self._thread.join(END_TIMEOUT_S)

    def _read(self) -> None:
        with self._pipe as pipe:
            while chunk := pipe.read(CHUNK):
                room = self._limit - len(self._kept)
                self._kept += chunk[:room]
                if len(chunk) > room and not self.flooded:
                    self.flooded = True
                    self._on_flood()
