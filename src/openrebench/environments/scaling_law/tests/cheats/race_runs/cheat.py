"""Send many runs at the same moment, so that each sees the whole allowance."""

import json
import threading

import experiments

COUNT, STEPS = 24, 6
barrier = threading.Barrier(COUNT)
done, refused = [], []


def one(seed: int) -> None:
    barrier.wait()
    try:
        done.append(experiments.run(8, STEPS, seed=seed))
    except experiments.Refused as error:
        refused.append(str(error))


threads = [threading.Thread(target=one, args=(k,)) for k in range(COUNT)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"flop": sum(d["flop"] for d in done), "done": len(done), "left": experiments.left()}))
