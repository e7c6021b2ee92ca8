"""Intervals on a line.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from itertools import combinations

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)


def parse(text):
    numbers = ints(text)
    return (list(zip(numbers[1::2], numbers[2::2])),)


def small(rng):
    n = rng.randint(1, 6)
    rows = []
    for _ in range(n):
        left = rng.randint(0, 12)
        rows.append([left, left + rng.randint(1, 6)])
    return lines(n, *rows)


def large(rng):
    n = 100_000
    top, length = rng.choice([(1_000_000_000, 20_000), (1_000_000_000, 900_000_000), (300_000, 9)])
    rows = []
    for _ in range(n):
        left = rng.randint(0, top)
        rows.append([left, min(left + rng.randint(1, length), 2_000_000_000)])
    return lines(n, *rows)


def disjoint(chosen):
    return all(a[1] <= b[0] or b[1] <= a[0] for a, b in combinations(chosen, 2))


def most_disjoint(spans):
    return max(
        k for k in range(len(spans) + 1) if any(disjoint(c) for c in combinations(spans, k))
    )


def covered(spans):
    return {t for left, right in spans for t in range(left, right)}


def stab(spans):
    moments = sorted({t for left, right in spans for t in range(left, right)})
    for k in range(1, len(spans) + 1):
        for chosen in combinations(moments, k):
            if all(any(left <= t < right for t in chosen) for left, right in spans):
                return k


def longest_gap(spans):
    busy = covered(spans)
    best = run = 0
    for t in range(min(busy), max(busy) + 1):
        run = 0 if t in busy else run + 1
        best = max(best, run)
    return best


FAMILY = Family(
    name="intervals",
    story="The hall of $place was let n times today: the i-th guest had a key from minute l_i until "
    "just before minute r_i.",
    input="The first line holds n (1 <= n <= 100000); n lines follow with l_i and r_i each "
    "(0 <= l_i < r_i <= 2000000000).",
    parse=parse,
    small=small,
    large=large,
    edges=("1\n0 1\n", "2\n0 5\n5 6\n", "3\n0 9\n0 9\n0 9\n", "3\n0 2\n4 6\n7 8\n"),
    read="    let n = next()« as usize¦no_cast:»;\n"
    "    let mut spans: Vec<(i64, i64)> = (0..n).map(|_| { let l = next(); (l, next()) }).collect();\n",
    variants=(
        Variant(
            key="overlap",
            title="Crowded hall",
            task="How many guests had a key at the same time, at most?",
            output="Print the largest number of guests with a key at one time.",
            brute=lambda spans: max(sum(a <= t < b for a, b in spans) for t, _ in spans),
            rust="""\
    let mut events: Vec<(i64, i64)> = Vec::new();
    for &(l, r) in &spans {
        events.push((l, 1));
        events.push((r, -1));
    }
    events.sort«()¦ends_late:_by_key(|e| (e.0, -e.1))»;
    let (mut now, mut best) = (0, 0);
    for (_, d) in events {
        now += d;
        best = best.max(now);
    }
    spans.clear();
    println!("{}", best);
""",
        ),
        Variant(
            key="covered",
            title="Lights on",
            task="The light is on whenever at least one guest has a key. For how many minutes is it on?",
            output="Print the number of minutes.",
            brute=lambda spans: len(covered(spans)),
            rust="""\
    «spans.sort();¦not_sorted:spans.reverse();»
    let (mut total, mut end) = (0i64, -1i64);
    for &(l, r) in &spans {
        if r > end {
            total += r - «l.max(end)¦whole:l»;
            end = r;
        }
    }
    println!("{}", total);
""",
        ),
        Variant(
            key="disjoint",
            title="One key only",
            task="$person finds that there should have been one key only. How many of the guests "
            "could have been served, at most, if no two of them may have a key in the same minute?",
            output="Print the largest number of guests.",
            brute=most_disjoint,
            rust="""\
    spans.sort_by_key(|s| «s.1¦by_start:s.0¦by_length:s.1 - s.0»);
    let (mut count, mut end) = (0, -1i64);
    for &(l, r) in &spans {
        if l «>=¦strict:>» end {
            count += 1;
            end = r;
        }
    }
    println!("{}", count);
""",
        ),
        Variant(
            key="inspections",
            title="Inspections",
            task="$person wants to meet every guest and comes to the hall for single minutes. In a "
            "minute everybody who has a key is met. How many visits are needed at least?",
            output="Print the smallest number of visits.",
            brute=stab,
            rust="""\
    spans.sort_by_key(|s| «s.1¦by_start:s.0»);
    let (mut count, mut at) = (0, -1i64);
    for &(l, r) in &spans {
        if l > at {
            count += 1;
            at = r« - 1¦inclusive:»;
        }
    }
    println!("{}", count);
""",
        ),
        Variant(
            key="gap",
            title="The quiet time",
            task="Between the first minute in which somebody has a key and the last one, what is the "
            "longest time without anybody having one?",
            output="Print the length of the longest such time in minutes; 0 if there is none.",
            brute=longest_gap,
            rust="""\
    spans.sort();
    let (mut best, mut end) = (0i64, spans[0].1);
    for &(l, r) in &spans {
        best = best.max(l - end);
        end = «end.max(r)¦last:r»;
    }
    println!("{}", best«¦off_by_one: + 1»);
""",
        ),
    ),
)
