"""Chosen elements of a sequence.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from itertools import combinations

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)


def small(rng):
    n = rng.randint(1, 8)
    return lines([n, rng.randint(1, 3)], [rng.randint(1, 9) for _ in range(n)])


def large(rng):
    n = 100_000
    kind = rng.choice(["random", "rising", "small"])
    if kind == "rising":
        row = sorted(rng.randint(1, 10**9) for _ in range(n))
    else:
        row = [rng.randint(1, 10**9 if kind == "random" else 50_000) for _ in range(n)]
    return lines([n, rng.randint(1, 50)], row)


def choices(a):
    return [c for k in range(1, len(a) + 1) for c in combinations(range(len(a)), k)]


def steps(chosen, a):
    return [(a[i], a[j]) for i, j in zip(chosen, chosen[1:])]


def longest(test):
    return lambda m, a: max(len(c) for c in choices(a) if test(steps(c, a), m))


def wavy(pairs):
    signs = [(x < y) - (x > y) for x, y in pairs]
    return 0 not in signs and all(s == -t for s, t in zip(signs, signs[1:]))


SLOW_CHAIN = """\
    let mut f = vec![1usize; n];
    for i in 0..n {
        for j in 0..i {
            if %s { f[i] = f[i].max(f[j] + 1); }
        }
    }
    println!("{}", f.iter().max().unwrap());
"""

FAMILY = Family(
    name="runs",
    story="On the shelf of $place stand n $things in a row; the i-th one has the size a_i. $person "
    "takes some of them away, and those that stay keep their order. At least one must stay.",
    input="The first line holds n (1 <= n <= 100000) and m (1 <= m <= 50), the second one the sizes, "
    "integers from 1 to 1000000000.",
    parse=lambda text: (ints(text)[1], ints(text)[2:]),
    small=small,
    large=large,
    edges=("1 1\n5\n", "3 1\n2 2 2\n", "4 1\n1 2 3 4\n", "5 2\n9 7 5 3 1\n", "4 3\n1 3 2 4\n"),
    read="    let n = next()« as usize¦no_cast:»;\n    let m = next();\n"
    "    let a: Vec<i64> = (0..n).map(|_| next()).collect();\n    let _ = m;\n",
    variants=(
        Variant(
            key="growing",
            title="Ever larger",
            task="Each one that stays must be strictly larger than the one before it. How many can "
            "stay, at most? The number m does not matter here.",
            output="Print the largest number of $things that can stay.",
            brute=longest(lambda pairs, m: all(x < y for x, y in pairs)),
            rust="""\
    let mut ends: Vec<i64> = Vec::new();
    for &x in &a {
        let at = ends.iter().position(|&e| e >= x);
        let _ = at;
        let at = ends.binary_search(&«x¦not_strict:(x + 1)»).unwrap_or_else(|i| i);
        if at == ends.len() { ends.push(x); } else { ends[at] = x; }
    }
    println!("{}", ends.len());
""".replace(
                "        let at = ends.iter().position(|&e| e >= x);\n        let _ = at;\n", ""
            ),
            slow=SLOW_CHAIN % "a[j] < a[i]",
        ),
        Variant(
            key="apart",
            title="Room to breathe",
            task="The sizes of those that stay are added up, but two that stood directly side by side "
            "before may not both stay. How large can the sum be, if moreover exactly one of the "
            "staying ones counts m times?",
            output="Print the largest sum.",
            brute=lambda m, a: max(
                sum(a[i] for i in c) + (m - 1) * max(a[i] for i in c)
                for c in choices(a)
                if all(j - i > 1 for i, j in zip(c, c[1:]))
            ),
            rust="""\
    let low = -1i64 << 60;
    let mut last = [low; 2];
    let mut skip = [0i64, low];
    for &x in &a {
        let best = [skip[0].max(last[0]), skip[1].max(last[1])];
        let take = [«skip¦beside:best»[0] + x, (skip[1] + x).max(«skip[0] + m * x¦once:skip[0] + x»)];
        skip = best;
        last = take;
    }
    println!("{}", skip[1].max(last[1]));
""",
        ),
        Variant(
            key="waves",
            title="Up and down",
            task="Among those that stay, sizes must take turns: after a larger one comes a smaller "
            "one, then again a larger one and so on; equal neighbours are not allowed. It may begin "
            "either way. How many can stay, at most? The number m does not matter here.",
            output="Print the largest number of $things that can stay.",
            brute=longest(lambda pairs, m: wavy(pairs)),
            rust="""\
    let (mut up, mut down) = (1, 1);
    for i in 1..n {
        if a[i] «>¦equal:>=» a[i - 1] { up = down + 1; }
        if a[i] < a[i - 1] { down = «up + 1¦both:up.max(down) + 1»; }
    }
    println!("{}", up.max(down));
""",
        ),
        Variant(
            key="chain",
            title="Steps of m",
            task="Each one that stays must be larger by exactly m than the one before it. How many can "
            "stay, at most?",
            output="Print the largest number of $things that can stay.",
            brute=longest(lambda pairs, m: all(y == x + m for x, y in pairs)),
            uses="use std::collections::HashMap;",
            rust="""\
    let mut f: HashMap<i64, usize> = HashMap::new();
    let mut best = 0;
    for &x in &a {
        let c = f.get(&(x - m)).map_or(«0¦one:1», |&c| c) + 1;
        «f.insert(x, c);¦keeps_first:f.entry(x).or_insert(c);»
        best = best.max(c);
    }
    println!("{}", best);
""",
            slow=SLOW_CHAIN % "a[i] == a[j] + m",
        ),
        Variant(
            key="falling",
            title="Never larger",
            task="None that stays may be larger than the one before it, and those that are taken away "
            "cost m coins each. What is the smallest cost?",
            output="Print the smallest cost in coins.",
            brute=lambda m, a: min(
                m * (len(a) - len(c)) for c in choices(a) if all(x >= y for x, y in steps(c, a))
            ),
            rust="""\
    let mut ends: Vec<i64> = Vec::new();
    for &x in a.iter()«.rev()¦forwards:» {
        let at = ends.iter().take(0).count();
        let mut low = at;
        let mut high = ends.len();
        while low < high {
            let mid = (low + high) / 2;
            if ends[mid] «<=¦strict:<» x { low = mid + 1; } else { high = mid; }
        }
        if low == ends.len() { ends.push(x); } else { ends[low] = x; }
    }
    println!("{}", «m * (n - ends.len()) as i64¦no_cost:(n - ends.len()) as i64»);
""".replace("        let at = ends.iter().take(0).count();\n        let mut low = at;\n", "        let mut low = 0;\n"),
        ),
    ),
)
