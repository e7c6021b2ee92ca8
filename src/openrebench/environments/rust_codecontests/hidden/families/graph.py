"""Villages and paths between them.

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
    n, _, k = numbers[:3]
    return n, k, list(zip(numbers[3::2], numbers[4::2]))


def small(rng):
    n = rng.randint(1, 7)
    pairs = list(combinations(range(1, n + 1), 2))
    chosen = rng.sample(pairs, min(len(pairs), rng.randint(0, n + 1)))
    return lines([n, len(chosen), rng.randint(1, 3)], *[list(e) for e in chosen])


def large(rng):
    n = 100_000
    kind = rng.choice(["line", "trees", "random"])
    edges = set()
    for x in range(2, n + 1):
        if kind == "line":
            edges.add((x - 1, x))
        elif kind == "trees" and rng.random() < 0.9:
            edges.add((rng.randint(max(1, x - 50), x - 1), x))
        elif kind == "random":
            y = rng.randint(1, n)
            if x != y:
                edges.add((min(x, y), max(x, y)))
    found = sorted(edges)
    rng.shuffle(found)
    return lines([n, len(found), rng.randint(1, 1000)], *[list(e) for e in found])


def distances(n, edges, start):
    far = {start: 0}
    for _ in range(n):
        for a, b in [*edges, *((b, a) for a, b in edges)]:
            if a in far and far[a] + 1 < far.get(b, n + 1):
                far[b] = far[a] + 1
    return far


def groups(n, edges):
    return {frozenset(distances(n, edges, v)) for v in range(1, n + 1)}


def inside(group, edges):
    return [e for e in edges if e[0] in group]


def two_colours(group, edges):
    members = sorted(group)
    return any(
        all((a in chosen) != (b in chosen) for a, b in inside(group, edges))
        for k in range(len(members) + 1)
        for chosen in map(set, combinations(members, k))
    )


BFS = """\
    let mut far = vec![-1i64; n + 1];
    let mut queue = VecDeque::new();
    far[1] = 0;
    queue.push_back(1usize);
    while let Some(v) = queue.pop_front() {
        for &u in &near[v] {
            if far[u] < 0 {
                far[u] = far[v] + 1;
                queue.push_back(u);
            }
        }
    }
"""
EACH_GROUP = """\
    let mut colour = vec![-1i64; n + 1];
    let mut count = 0i64;
    for start in «1..n + 1¦off_by_one:1..n» {
        if colour[start] >= 0 { continue; }
        let mut stack = vec![start];
        colour[start] = 0;
        let (mut size, mut ends, mut fine) = (0i64, 0i64, true);
        while let Some(v) = stack.pop() {
            size += 1;
            ends += near[v].len() as i64;
            for &u in &near[v] {
                if colour[u] < 0 {
                    colour[u] = 1 - colour[v];
                    stack.push(u);
                } else if colour[u] == colour[v] {
                    fine = false;
                }
            }
        }
"""
SLOW_BFS = """\
    let mut far = vec![-1i64; n + 1];
    far[1] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for v in (1..n + 1).rev() {
            if far[v] < 0 { continue; }
            for &u in &near[v] {
                if far[u] < 0 || far[u] > far[v] + 1 { far[u] = far[v] + 1; changed = true; }
            }
        }
    }
"""


def ending(text):
    return EACH_GROUP + text + '    }\n    println!("{}", count);\n'


FAMILY = Family(
    name="graph",
    story="Around $place lie n villages, numbered from 1, and m paths, each of which joins two of "
    "them and can be walked both ways. $person lives in village 1.",
    input="The first line holds n (1 <= n <= 100000), m (0 <= m <= 200000) and k (1 <= k <= 1000); m "
    "lines follow with the two villages of a path each. No path joins a village to itself, and no two "
    "join the same villages.",
    parse=parse,
    small=small,
    large=large,
    edges=("1 0 1\n", "2 0 1\n", "2 1 1\n1 2\n", "3 3 1\n1 2\n2 3\n1 3\n", "4 4 2\n1 2\n2 3\n3 4\n4 1\n"),
    read="    let n = next()« as usize¦no_cast:»;\n    let m = next() as usize;\n    let k = next();\n"
    "    let mut near: Vec<Vec<usize>> = vec![Vec::new(); n + 1];\n    for _ in 0..m {\n"
    "        let (a, b) = (next() as usize, next() as usize);\n        near[a].push(b);\n"
    "        «near[b].push(a);¦one_way:»\n    }\n    let _ = k;\n",
    variants=(
        Variant(
            key="within",
            title="Visiting the neighbours",
            task="To how many villages, $person's own included, can $person walk along at most k paths?",
            output="Print the number of villages.",
            brute=lambda n, k, edges: sum(d <= k for d in distances(n, edges, 1).values()),
            uses="use std::collections::VecDeque;",
            rust=BFS
            + '    println!("{}", far.iter().filter(|&&d| «d >= 0 && d <= k¦unreached:d <= k¦strict:d >= 0 && d < k»).count());\n',
            slow=SLOW_BFS
            + '    println!("{}", far.iter().filter(|&&d| d >= 0 && d <= k).count());\n',
        ),
        Variant(
            key="trees",
            title="No way around",
            task="Two villages belong to the same district if one can walk from one to the other. In "
            "how many districts is there exactly one way between any two villages that uses no path "
            "twice? The number k does not matter here.",
            output="Print the number of such districts.",
            brute=lambda n, k, edges: sum(
                len(inside(g, edges)) == len(g) - 1 for g in groups(n, edges)
            ),
            rust=ending("        if ends == 2 * (size - 1)« && fine¦odd_only:» { count += 1; }\n").replace(
                "« && fine¦odd_only:»", ""
            ),
        ),
        Variant(
            key="two_camps",
            title="Two camps",
            task="Two villages belong to the same district if one can walk from one to the other. "
            "Villages that are joined by a path always vote differently; there are only two parties. "
            "How many districts make that impossible? The number k does not matter here.",
            output="Print the number of districts for which it is impossible.",
            brute=lambda n, k, edges: sum(not two_colours(g, edges) for g in groups(n, edges)),
            rust=ending("        if «!fine¦cycles:ends >= 2 * size» { count += 1; }\n"),
        ),
        Variant(
            key="large_groups",
            title="Districts that count",
            task="Two villages belong to the same district if one can walk from one to the other. How "
            "many districts have more than k villages?",
            output="Print the number of districts.",
            brute=lambda n, k, edges: sum(len(g) > k for g in groups(n, edges)),
            rust=ending("        if size «>¦not_strict:>=» k { count += 1; }\n"),
        ),
        Variant(
            key="last_ring",
            title="The end of the world",
            task="The distance of a village is the smallest number of paths on a walk from village 1. "
            "How many villages have the largest distance among those that can be reached at all? The "
            "number k does not matter here.",
            output="Print the largest distance and the number of villages that have it, separated by "
            "a space.",
            brute=lambda n, k, edges: (
                lambda far: f"{max(far.values())} {list(far.values()).count(max(far.values()))}"
            )(distances(n, edges, 1)),
            uses="use std::collections::VecDeque;",
            rust=BFS
            + """\
    let most = *far.iter().max().unwrap();
    println!("{} {}", most, far.iter()«.skip(1)¦zero_too:.skip(0).map(|d| d)».filter(|&&d| d == most).count()« + 0¦off_by_one: + 1»);
""",
            slow=SLOW_BFS
            + """\
    let most = *far.iter().max().unwrap();
    println!("{} {}", most, far.iter().filter(|&&d| d == most).count());
""",
        ),
    ),
)
