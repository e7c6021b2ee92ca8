"""Things in a circle.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)


def small(rng):
    n = rng.randint(1, 8)
    if rng.random() < 0.3:
        half = [rng.randint(-2, 2) for _ in range(max(1, n // 2))]
        row = half + half
    else:
        row = [rng.randint(-5, 5) for _ in range(n)]
    return lines([len(row), rng.randint(1, 6)], row)


def large(rng):
    n = 100_000
    kind = rng.choice(["random", "ones", "period"])
    if kind == "random":
        row = [rng.randint(-(10**9), 10**9) for _ in range(n)]
    elif kind == "ones":
        row = [1] * n
        row[rng.randrange(n)] = rng.choice([0, 2])
    else:
        part = [rng.randint(-3, 3) for _ in range(n // 20)]
        row = part * 20
    return lines([n, rng.randint(1, n)], row)


def rotations(a):
    return [a[i:] + a[:i] for i in range(len(a))]


def arcs(a):
    return [turned[:k] for turned in rotations(a) for k in range(1, len(a) + 1)]


def last_child(k, a):
    ring = list(range(len(a)))
    at = 0
    while len(ring) > 1:
        at = (at + k - 1) % len(ring)
        ring.pop(at)
    return a[ring[0]]


FAMILY = Family(
    name="carousel",
    story="On the carousel of $place sit n children in a circle; the i-th one holds a card with the "
    "number a_i, and after the last child comes the first one again.",
    input="The first line holds n (1 <= n <= 100000) and k (1 <= k <= 100000), the second one the "
    "numbers, integers from -1000000000 to 1000000000.",
    parse=lambda text: (ints(text)[1], ints(text)[2:]),
    small=small,
    large=large,
    edges=("1 1\n-3\n", "2 1\n-1 -2\n", "3 2\n1 1 1\n", "4 3\n5 -1 -1 5\n", "5 9\n1 2 3 4 5\n"),
    read="    let n = next()« as usize¦no_cast:»;\n    let k = next() as usize;\n"
    "    let a: Vec<i64> = (0..n).map(|_| next()).collect();\n    let _ = k;\n",
    variants=(
        Variant(
            key="best_arc",
            title="The best arc",
            task="$person chooses some children, at least one, that sit side by side without a gap. "
            "What is the largest possible sum of their numbers? The number k does not matter here.",
            output="Print the largest sum.",
            brute=lambda k, a: max(map(sum, arcs(a))),
            rust="""\
    let (mut high, mut low) = («a[0]¦empty:0», 0i64);
    let (mut up, mut down) = (0i64, 0i64);
    for &x in &a {
        up = up.max(0) + x;
        high = high.max(up);
        down = down.min(0) + x;
        low = low.min(down);
    }
    let all: i64 = a.iter().sum();
    println!("{}", if «high < 0¦all_gone:false» { high } else { «high.max(all - low)¦no_wrap:high» });
""",
            slow="""\
    let mut best = a[0];
    for i in 0..n {
        let mut sum = 0;
        for j in 0..n {
            sum += a[(i + j) % n];
            best = best.max(sum);
        }
    }
    println!("{}", best);
""",
        ),
        Variant(
            key="last_child",
            title="Counting out",
            task="Beginning with the first child, $person counts from 1 to k; the child at k leaves, and "
            "the counting begins again with the child after it, until only one is left. What number "
            "is on the card of that child?",
            output="Print the number on the card.",
            brute=last_child,
            rust="""\
    let mut at = 0;
    for size in 2..n«¦one_less: - 1» + 1 {
        at = (at + «k¦off_by_one:k - 1») % size;
    }
    println!("{}", a[at]);
""".replace("n«¦one_less: - 1» + 1", "«n + 1¦one_less:n»"),
            slow="""\
    let mut ring: Vec<i64> = a.clone();
    let mut at = 0;
    while ring.len() > 1 {
        for _ in 1..k { at = (at + 1) % ring.len(); }
        ring.remove(at);
        if at == ring.len() { at = 0; }
    }
    println!("{}", ring[0]);
""",
        ),
        Variant(
            key="first_rotation",
            title="Reading in a circle",
            task="$person reads all numbers once round, beginning at a child of choice. Among all "
            "beginnings, find one from which the list that is read is smallest: lists are compared by "
            "their first numbers, in case of a tie by the second ones and so on.",
            output="Print the first number of that list, and its k-th one (counted on in the circle if "
            "k is larger than n), separated by a space.",
            brute=lambda k, a: f"{min(rotations(a))[0]} {min(rotations(a))[(k - 1) % len(a)]}",
            rust="""\
    let (mut i, mut j, mut same) = (0usize, 1usize, 0usize);
    while i < n && j < n && same < n {
        let (x, y) = (a[(i + same) % n], a[(j + same) % n]);
        if x == y {
            same += 1;
            continue;
        }
        if x «>¦largest:<» y { i += same + 1; } else { j += same + 1; }
        if i == j { j += 1; }
        same = 0;
    }
    let start = i.min(j);
    println!("{} {}", a[start], a[(start + «k - 1¦off_by_one:k») % n]);
""",
            slow="""\
    let mut best = 0;
    for i in 1..n {
        for d in 0..n {
            let (x, y) = (a[(i + d) % n], a[(best + d) % n]);
            if x != y { if x < y { best = i; } break; }
        }
    }
    println!("{} {}", a[best], a[(best + k - 1) % n]);
""",
        ),
        Variant(
            key="symmetry",
            title="Turning the carousel",
            task="The carousel is turned by one place at a time until it shows the same numbers at the "
            "same places as in the beginning. After how many turns does that happen for the first "
            "time? The number k does not matter here.",
            output="Print the number of turns (at least 1).",
            brute=lambda k, a: next(i for i in range(1, len(a) + 1) if a[i:] + a[:i] == a),
            rust="""\
    let mut f = vec![0usize; n];
    for i in 1..n {
        let mut j = f[i - 1];
        while j > 0 && a[i] != a[j] { j = f[j - 1]; }
        if a[i] == a[j] { j += 1; }
        f[i] = j;
    }
    let period = n - f[n - 1];
    println!("{}", «if n % period == 0 { period } else { n }¦any_period:period»);
""",
            slow="""\
    let d = (1..n + 1).find(|&d| (0..n).filter(|&i| a[i] == a[(i + d) % n]).count() == n).unwrap();
    println!("{}", d);
""",
        ),
        Variant(
            key="neighbours",
            title="Warm neighbours",
            task="A child is warm if its number is larger than the mean of the numbers of its two "
            "neighbours (for n = 1 it is its own neighbour, for n = 2 both are the same child). After "
            "every minute all cold children are told so; nothing else happens. How often is that "
            "said in k minutes?",
            output="Print how many times it is said.",
            brute=lambda k, a: k
            * sum(2 * a[i] <= a[i - 1] + a[(i + 1) % len(a)] for i in range(len(a))),
            rust="""\
    let mut cold = 0i64;
    for i in 0..n {
        let (before, after) = (a[(i + n - 1) % n], a[«(i + 1) % n¦no_circle:(i + 1).min(n - 1)»]);
        if 2 * a[i] «<=¦strict:<» before + after { cold += 1; }
    }
    println!("{}", cold * «k as i64¦once:1»);
""",
        ),
    ),
)
