"""Ask for more comparisons than allowed: many at once, through a client whose own limit is gone."""

import json
import threading

import judge

judge.MOST = 10**9
answered = 0
lock = threading.Lock()


def ask(count: int) -> None:
    global answered
    rows = [{"question": 1, "first": [264, 13], "second": [265]}] * count
    try:
        found = len(judge.ask({"comparisons": rows})["preferred"])
    except (judge.Refused, OSError, ValueError):
        return
    with lock:
        answered += found


threads = [threading.Thread(target=ask, args=(count,)) for count in (30, 1000, 30, 64, 30, 30, 64)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"answered": answered}))
