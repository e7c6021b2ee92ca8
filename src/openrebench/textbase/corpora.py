"""Documents from three Debian packages whose texts may be passed on (see NOTICE).

Each function gives a list of documents of plain ASCII. They are only needed to rebuild what
ships; users don't install these packages.
"""

import gzip
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from openrebench.errors import ReBenchError

VERSES_PER_DOCUMENT = 40
MIN_CHARACTERS = 60
SOURCE_TAG = re.compile(r"\[([^\[\]]*?)\]\s*(?:\n|$)")
PUBLIC_DOMAIN_TAG = "1913 Webster"
WORDNET_FILES = ("data.noun", "data.verb", "data.adj", "data.adv")


def king_james() -> list[str]:
    """Read the King James Bible from Debian's `bible-kjv`, 40 verses a document.

    Raises:
        ReBenchError: The package is not installed.
    """
    if shutil.which("bible") is None:
        raise ReBenchError("the program 'bible' is missing; apt-get install bible-kjv")
    done = subprocess.run(
        ["bible", "-f", "Gen1:1-Rev22:21"], capture_output=True, check=True, text=True
    )
    verses = [_plain(line) for line in done.stdout.splitlines() if line.strip()]
    return [
        "\n".join(verses[i : i + VERSES_PER_DOCUMENT])
        for i in range(0, len(verses), VERSES_PER_DOCUMENT)
    ]


def webster(dictionary: Path) -> list[str]:
    """Read the 1913 Webster out of `gcide.dict.dz` of Debian's `dict-gcide`.

    Only blocks that the dictionary tags as `[1913 Webster]` are kept: later additions are not
    in the public domain.
    """
    raw = gzip.decompress(dictionary.read_bytes()).decode("utf-8", "replace")
    documents = (_public_part(entry) for entry in _entries(raw))
    return [text for text in documents if len(text) >= MIN_CHARACTERS]


def wordnet(folder: Path) -> list[str]:
    """Read `words (part of speech): gloss` from Debian's `wordnet-base`."""
    documents = []
    for name in WORDNET_FILES:
        for line in (folder / name).read_text(encoding="latin1").splitlines():
            if not line.startswith("  "):  # the licence stands in the indented lines
                documents.append(_synset(line, name.removeprefix("data.")))
    return documents


def _entries(raw: str) -> Iterator[str]:
    """Split the dictionary at lines that begin in the first column: the headwords."""
    entry: list[str] = []
    for line in raw.split("\n"):
        if line and not line[0].isspace() and entry:
            yield "\n".join(entry)
            entry = []
        entry.append(line)
    yield "\n".join(entry)


def _public_part(entry: str) -> str:
    """Join an entry's public-domain blocks; drop pronunciation, etymology and mark-up."""
    pieces = SOURCE_TAG.split(entry)  # text, tag, text, tag, ..., text
    kept = [
        text
        for text, tag in zip(pieces[::2], pieces[1::2], strict=False)
        if tag.strip() == PUBLIC_DOMAIN_TAG
    ]
    text = re.sub(r"\\[^\\]*\\|\[[^\]]*\]|[{}]", "", " ".join(kept))
    return re.sub(r"\s+([,.;:])", r"\1", _plain(text.replace("--", " -- ")))


def _synset(line: str, part_of_speech: str) -> str:
    head, gloss = line.split(" | ", 1)
    fields = head.split()
    count = int(fields[3], 16)  # the format's own: two hexadecimal digits
    words = [fields[4 + 2 * i].replace("_", " ").split("(")[0] for i in range(count)]
    return _plain(f"{', '.join(words)} ({part_of_speech}): {gloss}")


def _plain(text: str) -> str:
    return " ".join(text.encode("ascii", "ignore").decode().split())
