"""Inspect's logs, kept with the attempts that they are of."""

import shutil
from pathlib import Path

from openrebench.harness import compat, live

TRANSCRIPT = "transcript.eval"


def keep_transcripts(logs: Path, folders: list[Path]) -> None:
    """Write each attempt's part of the logs into its folder, then remove the logs.

    Args:
        logs: Folder of Inspect's logs of a run.
        folders: Folders of the attempts that may be in them.
    """
    by_id = {folder.name: folder / TRANSCRIPT for folder in folders}
    for path in sorted(logs.glob("*.eval")):
        compat.split_log(path, live.KEY, by_id.get)
    shutil.rmtree(logs)


def anchors_in(transcript: Path) -> list[str]:
    """List the hashes of score log entries that a transcript holds (see `score_log.verify`)."""
    return [str(facts["hash"]) for facts in compat.score_metadata(transcript) if "hash" in facts]
