"""Tokenised rows on disk: compressed JSON-lines shards with an index and checksums."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

INDEX = "index.json"
VERSION = 2
BLOCK = 1 << 16


class ShardWriter:
    """Writes rows to shards of a fixed number of rows; use it as a context."""

    def __init__(self, folder: str | Path, rows_per_shard: int) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows_per_shard = rows_per_shard
        self.shards: list[dict[str, Any]] = []
        self.rows: list[dict[str, Any]] = []

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(self, *error: object) -> None:
        if self.rows:
            self._flush()
        self._write_index()

    def write(self, row: dict[str, Any]) -> None:
        """Add a row."""
        self.rows.append(row)
        if len(self.rows) == self.rows_per_shard:
            self._flush()

    def _flush(self) -> None:
        name = f"shard.{len(self.shards):05d}.jsonl.gz"
        path = self.folder / name
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=9) as file:
            for row in self.rows:
                file.write(json.dumps(row) + "\n")
        self.shards.append(
            {"file": name, "rows": len(self.rows), "sha256": file_digest(path)}
        )
        self.rows = []
        self._write_index()

    def _write_index(self) -> None:
        index = {"version": VERSION, "shards": self.shards}
        with open(self.folder / INDEX, "w", encoding="utf-8") as file:
            json.dump(index, file, indent=1)


def file_digest(path: Path) -> str:
    """Give a file's SHA-256."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            digest.update(block)
    return digest.hexdigest()


class ShardReader:
    """Gives rows by number; the shard used last stays in memory."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        with open(self.folder / INDEX, encoding="utf-8") as file:
            index = json.load(file)
        if index["version"] != VERSION:
            raise ValueError(f"{self.folder}: shards of version {index['version']}, not {VERSION}")
        self.shards = index["shards"]
        self.first_rows = []
        total = 0
        for shard in self.shards:
            self.first_rows.append(total)
            total += shard["rows"]
        self.total = total
        self.open_shard: int | None = None
        self.open_rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return self.total

    def __getitem__(self, number: int) -> dict[str, Any]:
        if not 0 <= number < self.total:
            raise IndexError(f"{self.folder}: no row {number}; there are {self.total}")
        shard = self._shard_of(number)
        if shard != self.open_shard:
            self.open_rows = self._load(shard)
            self.open_shard = shard
        return self.open_rows[number - self.first_rows[shard]]

    def _shard_of(self, number: int) -> int:
        for shard in reversed(range(len(self.shards))):
            if self.first_rows[shard] <= number:
                return shard
        raise IndexError(number)

    def _load(self, shard: int) -> list[dict[str, Any]]:
        facts = self.shards[shard]
        path = self.folder / facts["file"]
        if file_digest(path) != facts["sha256"]:
            raise ValueError(f"{path}: damaged (its SHA-256 differs)")
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]
