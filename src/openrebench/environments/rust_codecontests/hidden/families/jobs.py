"""Jobs with deadlines on one machine.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from itertools import permutations

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)


def parse(text):
    numbers = ints(text)
    return numbers[1], list(zip(numbers[2::2], numbers[3::2]))


def small(rng):
    n = rng.randint(1, 6)
    rows = [[rng.randint(1, 6), rng.randint(1, 14)] for _ in range(n)]
    return lines([n, rng.randint(1, 15)], *rows)


def large(rng):
    n = 100_000
    top = rng.choice([100, 1_000_000])
    span = rng.choice([n * top // 4, 1_000_000_000])
    rows = [[rng.randint(1, top), rng.randint(1, min(span, 1_000_000_000))] for _ in range(n)]
    return lines([n, rng.randint(1, 1_000_000_000)], *rows)


def over_orders(measure, best):
    def brute(rest, jobs):
        found = []
        for order in permutations(jobs):
            now, ends = 0, []
            for length, deadline in order:
                now += length
                ends.append((now, deadline))
            found.append(measure(ends, rest))
        return best(found)

    return brute


FAMILY = Family(
    name="jobs",
    story="$hero runs the only oven of $place. There are n orders; the i-th one keeps the oven busy "
    "for t_i minutes without a break and was promised for minute d_i. The oven does one order at a "
    "time and is free from minute 0 on.",
    input="The first line holds n (1 <= n <= 100000) and w (1 <= w <= 1000000000); n lines follow "
    "with t_i (1 <= t_i <= 1000000) and d_i (1 <= d_i <= 1000000000) each.",
    parse=parse,
    small=small,
    large=large,
    edges=("1 1\n1 1\n", "1 5\n6 5\n", "3 4\n2 2\n2 2\n2 2\n", "2 9\n5 5\n4 9\n"),
    read="    let n = next()« as usize¦no_cast:»;\n    let w = next();\n"
    "    let mut jobs: Vec<(i64, i64)> = (0..n).map(|_| { let t = next(); (t, next()) }).collect();\n"
    "    let _ = w;\n",
    variants=(
        Variant(
            key="on_time",
            title="Promises kept",
            task="How many orders can be finished on time, at most? An order is on time if it is done "
            "at minute d_i or earlier; others may be left undone. The number w does not matter here.",
            output="Print the largest number of orders that are on time.",
            brute=over_orders(lambda ends, w: sum(e <= d for e, d in ends), max),
            uses="use std::collections::BinaryHeap;",
            rust="""\
    jobs.sort_by_key(|j| «j.1¦by_length:j.0»);
    let mut taken = BinaryHeap::new();
    let mut now = 0i64;
    for &(t, d) in &jobs {
        taken.push(t);
        now += t;
        if now «>¦strict:>=» d {
            now -= «taken.pop().unwrap()¦drops_last:{ taken.pop(); t }»;
        }
    }
    println!("{}", taken.len());
""",
        ),
        Variant(
            key="lateness",
            title="The angriest customer",
            task="All orders are done. A customer whose order is ready at minute e waits e - d_i "
            "minutes too long, or 0 if that is negative. How long does the customer who waits "
            "longest wait, if $hero chooses the best order of work? The number w does not matter.",
            output="Print the smallest possible longest wait.",
            brute=over_orders(lambda ends, w: max(max(0, e - d) for e, d in ends), min),
            rust="""\
    jobs.sort_by_key(|j| «j.1¦by_length:j.0¦by_slack:j.1 - j.0»);
    let (mut now, mut worst) = (0i64, «0i64¦negative:i64::min_value()»);
    for &(t, d) in &jobs {
        now += t;
        worst = worst.max(now - d);
    }
    println!("{}", worst);
""",
        ),
        Variant(
            key="within",
            title="Before the power goes",
            task="At minute w the power goes off. How many orders can be finished by then, at most, if "
            "what was promised does not matter?",
            output="Print the largest number of orders.",
            brute=over_orders(lambda ends, w: sum(e <= w for e, d in ends), max),
            rust="""\
    «jobs.sort();¦not_sorted:jobs.reverse();¦by_deadline:jobs.sort_by_key(|j| j.1);»
    let (mut now, mut count) = (0i64, 0);
    for &(t, _) in &jobs {
        now += t;
        if now «<=¦strict:<» w {
            count += 1;
        }
    }
    println!("{}", count);
""",
        ),
        Variant(
            key="total_wait",
            title="Waiting together",
            task="All customers stand in the shop from minute 0 until their own order is ready. Between "
            "two orders the oven has to be cleaned, which takes w minutes. What is the smallest sum "
            "of all waiting times, in minutes?",
            output="Print the smallest sum modulo 1000000007.",
            brute=over_orders(
                lambda ends, w: sum(e + k * w for k, (e, d) in enumerate(ends)), min
            ),
            rust="""\
    «jobs.sort();¦by_deadline:jobs.sort_by_key(|j| j.1);»
    let (mut now, mut sum) = (0i64, 0i64);
    for (k, &(t, _)) in jobs.iter().enumerate() {
        now += t« + if k > 0 { w } else { 0 }¦cleans_first: + w + 0 * k as i64»;
        sum = sum« + now % 1_000_000_007¦no_mod: + now»;
    }
    println!("{}", sum« % 1_000_000_007¦no_mod:»);
""",
        ),
        Variant(
            key="latest_start",
            title="Sleeping in",
            task="All orders must be on time, that is done at minute d_i or earlier. $hero would like "
            "to start the oven as late as possible; from then on it may stand still at any time. "
            "What is the latest minute at which the first order can begin? The number w does not "
            "matter.",
            output="Print the latest minute, or -1 if it can't be done even from minute 0.",
            brute=lambda w, jobs: latest(jobs),
            rust="""\
    jobs.sort_by_key(|j| «-j.1¦by_length:-j.0¦forwards:j.1»);
    let mut start = jobs[0].1;
    for &(t, d) in &jobs {
        start = «start.min(d)¦no_gap:start» - t;
    }
    println!("{}", if start < 0 { -1 } else { start });
""",
        ),
    ),
)


def latest(jobs):
    best = -1
    for order in permutations(jobs):
        start = 10**9
        for length, deadline in reversed(order):
            start = min(start, deadline) - length
        best = max(best, start)
    return best if best >= 0 else -1
