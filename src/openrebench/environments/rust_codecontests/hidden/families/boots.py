"""Matching two lists.

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
    n, k, *rest = ints(text)
    return k, rest[:n], rest[n:]


def small(rng):
    n = rng.randint(1, 6)
    rows = [[rng.randint(1, 12) for _ in range(n)] for _ in range(2)]
    return lines([n, rng.randint(0, 5)], *rows)


def large(rng):
    n = 100_000
    top = rng.choice([1000, 1_000_000_000])
    rows = [[rng.randint(1, top) for _ in range(n)] for _ in range(2)]
    return lines([n, rng.choice([0, 3, 1000])], *rows)


def over(measure, best):
    return lambda k, a, b: best(measure(k, list(zip(a, order))) for order in permutations(b))


SORT = "    let (mut a, mut b) = (a, b);\n    a.sort();\n    b.sort();\n"
FAMILY = Family(
    name="boots",
    story="The ballet of $place has n dancers; the i-th one has feet of size a_i. In the store lie n "
    "pairs of boots, the j-th one of size b_j. Every dancer can be given one pair at most, and every "
    "pair to one dancer at most.",
    input="The first line holds n (1 <= n <= 100000) and k (0 <= k <= 1000000000), the second one the "
    "sizes a_i, the third one the sizes b_j, integers from 1 to 1000000000.",
    parse=parse,
    small=small,
    large=large,
    edges=("1 0\n1\n1\n", "1 0\n2\n1\n", "3 0\n5 5 5\n5 5 5\n", "3 1\n1 2 3\n2 3 4\n"),
    read="    let n = next()« as usize¦no_cast:»;\n    let k = next();\n"
    "    let a: Vec<i64> = (0..n).map(|_| next()).collect();\n"
    "    let b: Vec<i64> = (0..n).map(|_| next()).collect();\n    let _ = k;\n",
    variants=(
        Variant(
            key="fitting",
            title="Boots that fit",
            task="A pair fits if the two sizes differ by k at most. How many dancers can be given boots "
            "that fit?",
            output="Print the largest number of dancers.",
            brute=over(lambda k, pairs: sum(abs(x - y) <= k for x, y in pairs), max),
            rust=SORT
            + """\
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < n && j < n {
        if (a[i] - b[j])« ¦too_long: * 1».abs() «<=¦strict:<» k {
            count += 1;
            i += 1;
            j += 1;
        } else if a[i] < b[j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    println!("{}", count);
""".replace("« ¦too_long: * 1»", ""),
            slow="""\
    let mut b = b;
    let mut a = a;
    a.sort();
    let mut count = 0;
    for &x in &a {
        let mut at = b.len();
        for j in 0..b.len() {
            if (b[j] - x).abs() <= k && (at == b.len() || b[j] < b[at]) { at = j; }
        }
        if at < b.len() { count += 1; b.remove(at); }
    }
    println!("{}", count);
""",
        ),
        Variant(
            key="smallest_sum",
            title="A little too large",
            task="Everybody must be given a pair. What is the smallest sum of |a_i - b_j| over all "
            "dancers, where of every difference up to k is forgiven (a difference of d counts as "
            "max(0, d - k))? Only answers with a sorted distribution are of interest: the dancer with "
            "the smallest feet gets the smallest boots and so on.",
            output="Print the sum.",
            brute=lambda k, a, b: sum(
                max(0, abs(x - y) - k) for x, y in zip(sorted(a), sorted(b))
            ),
            rust=SORT.replace("a.sort();", "«a.sort();¦not_sorted:»")
            + """\
    let sum: i64 = a.iter().zip(&b).map(|(x, y)| ((x - y).abs() - k)«.max(0)¦negative:»).sum();
    println!("{}", sum);
""",
        ),
        Variant(
            key="worst_fit",
            title="The worst pair",
            task="Everybody must be given a pair. Choose so that the largest difference |a_i - b_j| is as "
            "small as possible. By how much is it larger than k?",
            output="Print that number, 0 if it is not larger.",
            brute=lambda k, a, b: max(
                0, over(lambda k, pairs: max(abs(x - y) for x, y in pairs), min)(k, a, b) - k
            ),
            rust=SORT
            + """\
    let worst = a.iter().zip(&b).map(|(x, y)| «(x - y).abs()¦signed:(x - y)»).max().unwrap();
    println!("{}", (worst - k)«.max(0)¦negative:»);
""",
        ),
        Variant(
            key="larger",
            title="Room for socks",
            task="Boots are comfortable if they are larger than the feet by more than k. How many dancers "
            "can have comfortable boots?",
            output="Print the largest number of dancers.",
            brute=over(lambda k, pairs: sum(y > x + k for x, y in pairs), max),
            rust=SORT
            + """\
    let mut i = 0;
    for &y in &b {
        if «y > a[i] + k¦equal:y >= a[i] + k¦other_way:a[i] > y + k» {
            i += 1;
        }
    }
    println!("{}", i);
""",
            slow="""\
    let (mut a, mut b) = (a, b);
    a.sort();
    let mut count = 0;
    for &x in &a {
        let mut at = b.len();
        for j in 0..b.len() {
            if b[j] > x + k && (at == b.len() || b[j] < b[at]) { at = j; }
        }
        if at < b.len() { count += 1; b.remove(at); }
    }
    println!("{}", count);
""",
        ),
        Variant(
            key="cross_pairs",
            title="All who could complain",
            task="Count the ways to choose one dancer and one pair of boots such that the boots are too "
            "small for the dancer by at least k and not larger than them either way (b_j < a_i and "
            "a_i - b_j >= k).",
            output="Print the number of ways.",
            brute=lambda k, a, b: sum(y < x and x - y >= k for x in a for y in b),
            rust=SORT
            + """\
    let (mut j, mut total) = (0usize, 0i64);
    for &x in &a {
        while j < n && b[j] «<= x - k.max(1)¦equal:<= x - k¦strict:< x - k» {
            j += 1;
        }
        total += j as i64;
    }
    println!("{}", total);
""",
            slow="""\
    let mut total = 0i64;
    for &x in &a {
        for &y in &b { if y < x && x - y >= k { total += 1; } }
    }
    println!("{}", total);
""",
        ),
    ),
)
