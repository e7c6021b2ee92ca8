"""Make expected outputs and labels by really compiling and running everything.

    python -m openrebench.environments.rust_codecontests.hidden.label [FAMILY...]

Outputs of small inputs come from brute force; those of large ones from the correct program, which
has to agree with brute force on all samples, edges and small inputs and on further random ones.
Every candidate of every pool is then judged as a submission's program would be.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

import hashlib
import json
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

from openrebench.environments.rust_codecontests.hidden import bank
from openrebench.environments.rust_codecontests.judge import (
    FLAGS,
    Judge,
    compare,
    compiler_version,
    same_output,
)
from openrebench.environments.rust_codecontests.problems import Case
from openrebench.isolation.local import LocalRunner

CANARY = "Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51"
CROSS_CHECKS = 150


def main(names):
    chosen = [k for split in ("dev", "score", "final") for k in bank.keys(split)]
    chosen = [k for k in chosen if not names or k.split("/")[0] in names or k in names]
    with LocalRunner() as runner, ThreadPoolExecutor(int(os.environ.get("LABEL_WORKERS", "2"))) as pool:
        judge = Judge(runner)
        found = list(pool.map(lambda key: (key, *whole(judge, key)), chosen))
    save("expected.json", {key: expected for key, expected, _ in found})
    save("labels.json", {key: labels for key, _, labels in found})


def whole(judge, key):
    """Give what is expected of a problem's programs, and what became of its candidates."""
    try:
        inputs = bank.inputs(key)
        known = still_valid(key, inputs)
        if known is not None:
            return known[0], [known[1].get(sha256(c)) or only_compiled(judge, c) for c in bank.candidates(key)]
        runs = {c.name: executed(judge, c, inputs) for c in bank.candidates(key)}
        outputs = expectations(judge, key, runs["correct"])
        tests = tuple(map(Case, inputs, outputs))
        samples = chosen_samples(runs, outputs)
        rows = [label(c, runs[c.name], tests, samples) for c in bank.candidates(key)]
    except Exception as error:
        print(f"{key}: {type(error).__name__}: {error}", flush=True)
        raise SystemExit(1) from error
    print(key, samples, *(f"\n    {r['name']}: {r['label']} {r.get('test', '')} {r['cpu_s']}" for r in rows), flush=True)
    return {"inputs": bank.digest(inputs), "samples": samples, "outputs": outputs}, rows


def still_valid(key, inputs):
    """Give what is known of a problem, if only programs that don't compile are new in its pool."""
    expected, labels = (bank.recorded(n)["problems"].get(key) for n in ("expected.json", "labels.json"))
    if not expected or not labels or expected["inputs"] != bank.digest(inputs):
        return None
    known = {row["sha256"]: row for row in labels}
    new = [c for c in bank.candidates(key) if sha256(c) not in known]
    return None if any(not c.parent for c in new) else (expected, known)


def only_compiled(judge, candidate):
    """Label a candidate that is meant not to compile."""
    built = judge.build(candidate.source)
    if built.binary is not None:
        raise RuntimeError(f"{candidate.name} compiles; label the whole problem again")
    return {"name": candidate.name, "sha256": sha256(candidate), "label": "compile_error", "cpu_s": 0.0}


def sha256(candidate):
    return hashlib.sha256(candidate.source.encode()).hexdigest()


def executed(judge, candidate, inputs):
    """Compile and run a candidate on all inputs; gives the compiler's message if it says no."""
    built = judge.build(candidate.source)
    if built.binary is None:
        return built.message
    runs = judge.run(built.binary, inputs, all_tests=True)
    if len(runs) < len(inputs):
        raise RuntimeError(f"{candidate.name}: only {len(runs)} of {len(inputs)} tests were run")
    return runs


def expectations(judge, key, runs):
    """Give all expected outputs, and check the correct program by brute force."""
    if isinstance(runs, str):
        raise RuntimeError(f"does not compile: {runs}")
    found, variant = bank.variant_of(key)
    inputs = bank.inputs(key)
    if any(run.end != "ok" for run in runs):
        raise RuntimeError(f"fails: {[run.end for run in runs]}")
    rng = random.Random(f"cross check {key}")
    others = [found.small(rng) for _ in range(CROSS_CHECKS)]
    built = judge.build(bank.candidates(key)[0].source)
    more = judge.run(built.binary, others, all_tests=True)
    small = len(inputs) - bank.LARGE
    for text, run in zip([*inputs[:small], *others], [*runs[:small], *more], strict=True):
        brute = str(variant.brute(*found.parse(text)))
        if brute != run.output.decode().strip():
            raise RuntimeError(f"gives {run.output} {run.end}, brute force {brute}, for\n{text}")
    return [run.output.decode().strip() for run in runs]


def passes(runs, outputs, k):
    """Tell whether a candidate passes a test."""
    return runs[k].end == "ok" and same_output(runs[k].output, outputs[k])


def chosen_samples(runs, outputs):
    """Choose two samples that about three of the wrong programs with one slip pass.

    Samples of contests show the format and catch a misread question, and leave the rest to the
    hidden tests.
    """
    compiled = {name: r for name, r in runs.items() if not isinstance(r, str)}
    wrong = {n: r for n, r in compiled.items() if not all(passes(r, outputs, k) for k in range(len(outputs)))}

    def quality(pair):
        survivors = [n for n, r in wrong.items() if all(passes(r, outputs, k) for k in pair)]
        misread = sum(name.startswith("as ") for name in survivors)
        same = outputs[pair[0]] == outputs[pair[1]]
        plain = sum(outputs[k] in ("0", "1", "-1") for k in pair)
        return (misread + same + (plain > 1), abs(len(survivors) - 3), pair)

    return list(min(combinations(range(bank.SMALL), bank.PUBLIC), key=quality))


def label(candidate, runs, tests, samples):
    """Say what a candidate is; `test` counts the samples first."""
    if isinstance(runs, str):
        return {"name": candidate.name, "sha256": sha256(candidate), "label": "compile_error", "cpu_s": 0.0}
    ordered = bank.samples_first(tuple(zip(tests, runs, strict=True)), samples)
    verdict = compare([run for _, run in ordered], [test for test, _ in ordered])
    row = {"name": candidate.name, "sha256": sha256(candidate), "label": str(verdict.kind), "cpu_s": max(run.cpu_s for run in runs)}
    return row if verdict.test is None else {**row, "test": verdict.test}


def save(name, problems):
    path = bank.HERE / name
    known = json.loads(path.read_text())["problems"] if path.exists() else {}
    head = {"canary": CANARY, "rustc": compiler_version(), "flags": list(FLAGS)}
    everything = {**known, **problems}
    order = [k for split in ("dev", "score", "final") for k in bank.keys(split)]
    rows = ",\n".join(f"  {json.dumps(k)}: {json.dumps(everything[k])}" for k in order if k in everything)
    opening = json.dumps(head, indent=1)[:-2]
    path.write_text(f'{opening},\n "problems": {{\n{rows}\n }}\n}}\n')


if __name__ == "__main__":
    main(sys.argv[1:])
