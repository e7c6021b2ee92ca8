"""What an attempt's workspace gets beside `agent/`: base model, questions, our model code."""

import json
from pathlib import Path

from openrebench.core.card import Profile
from openrebench.environments.gpt2_qa import sources
from openrebench.environments.gpt2_qa.questions import prompt


def write(workspace: Path, profile: Profile) -> None:
    """Write the base model, also as the submission, and prompts, sizes, vocabulary and code."""
    from openrebench.environments.gpt2_qa import generation
    from openrebench.textbase import gpt, weights

    base, texts = sources.base(profile), sources.texts(profile)
    for name in ("model.safetensors", "base_model.safetensors"):
        weights.save_weights(workspace / name, base)
    sizes = {"model": base.config.as_dict(), "device": profile.device, "end": texts.end}
    (workspace / "sizes.json").write_text(json.dumps(sizes, indent=1) + "\n")
    names = json.dumps(texts.vocabulary, ensure_ascii=False, indent=0)
    (workspace / "vocabulary.json").write_text(names + "\n", encoding="utf-8")
    _write_prompts(workspace / "prompts.jsonl", profile)
    for source, name in ((gpt.__file__, "model.py"), (generation.__file__, "generation.py")):
        (workspace / name).write_bytes(Path(source or "").read_bytes())


def _write_prompts(path: Path, profile: Profile) -> None:
    """Write the dev questions, one a line, with the tokens that ask them; no answers."""
    texts = sources.texts(profile)
    questions = [pair.question for pair in sources.pairs(profile, "dev")]
    tokens = texts.encode_all([prompt(question) for question in questions])
    with path.open("w", encoding="utf-8") as file:
        for question, row in zip(questions, tokens, strict=True):
            file.write(json.dumps({"question": question, "tokens": row}) + "\n")
