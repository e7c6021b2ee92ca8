"""Inspect's logs, kept with the attempts that they are of."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from openrebench.harness import compat, live

TRANSCRIPT = "transcript.eval"
TEMPORARY = ".transcripts-"  # then the id of the process whose logs are in the folder


def keep_transcript(log: Path, folders: Iterable[Path]) -> None:
    """Write each attempt's part of a log into its folder.

    Those of earlier sessions of a resumed attempt become `transcript-1.eval` and so on.

    Args:
        log: One of Inspect's logs.
        folders: Folders of the attempts that may be in it.
    """
    by_id = {folder.name: folder for folder in folders}

    def place(attempt: str) -> Path | None:
        return _cleared(by_id[attempt]) if attempt in by_id else None

    compat.split_log(log, live.KEY, place)


def recover_transcripts(root: Path, folders: Iterable[Path]) -> None:
    """Keep what processes that were killed have left of transcripts in a folder of attempts.

    What they had not yet written to the log is taken from Inspect's buffer, where it is.
    """
    known = list(folders)
    for left in root.glob(f"{TEMPORARY}*"):
        owner = left.name.removeprefix(TEMPORARY).partition("-")[0]
        if Path("/proc", owner).exists():
            continue
        for log in sorted(left.glob("*.eval")):
            keep_transcript(compat.recovered_log(log), known)
        shutil.rmtree(left)


def _cleared(folder: Path) -> Path:
    """Give the place of a transcript, once that of an earlier session is out of the way."""
    path = folder / TRANSCRIPT
    if path.exists():
        number = 1 + sum(1 for _ in folder.glob("transcript-*.eval"))
        path.rename(folder / f"transcript-{number}.eval")
    return path


def anchors_in(transcript: Path) -> list[str]:
    """List the hashes of score log entries that a transcript holds (see `score_log.verify`)."""
    return [str(facts["hash"]) for facts in compat.score_metadata(transcript) if "hash" in facts]
