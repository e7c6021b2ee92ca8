"""Bits.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from functools import reduce
from itertools import combinations
from operator import or_, xor

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)


def small(rng):
    n = rng.randint(1, 8)
    return lines([n, rng.randint(0, 7)], [rng.randint(0, 7) for _ in range(n)])


def large(rng):
    n = 100_000
    top = rng.choice([3, 1000, (1 << 30) - 1])
    return lines([n, rng.choice([0, 1, 1000])], [rng.randint(0, top) for _ in range(n)])


def pieces(a):
    return [a[i:j] for i in range(len(a)) for j in range(i + 1, len(a) + 1)]


def slow_pieces(start, step, test):
    return f"""\
    let mut total = 0i64;
    for i in 0..n {{
        let mut x = {start};
        for j in i..n {{
            {step}
            if {test} {{ total += 1; }}
        }}
    }}
    println!("{{}}", total);
"""


SLOW_PAIRS = """\
    let mut total = 0i64;
    for i in 0..n {
        for j in 0..i {
            %s
        }
    }
    println!("{}", total);
"""

FAMILY = Family(
    name="lamps",
    story="$hero guards n boxes with lamps in $place. Each box has 30 lamps; which of them are lit in "
    "the i-th box is told by the bits of the number a_i.",
    input="The first line holds n (1 <= n <= 100000) and k (0 <= k < 2^30), the second one the numbers "
    "a_i (0 <= a_i < 2^30).",
    parse=lambda text: (ints(text)[1], ints(text)[2:]),
    small=small,
    large=large,
    edges=("1 0\n0\n", "1 1\n1\n", "3 0\n0 0 0\n", "4 3\n1 2 1 2\n", "2 5\n1073741823 1073741822\n", "2 4\n1073741823 5\n"),
    read="    let n = next()« as usize¦no_cast:»;\n    let k = next();\n"
    "    let a: Vec<i64> = (0..n).map(|_| next()).collect();\n    let _ = k;\n",
    variants=(
        Variant(
            key="xor_pieces",
            title="Odd lamps",
            task="For some boxes that stand next to each other, take the bitwise exclusive or of their "
            "numbers. For how many pieces of the row (at least one box) is it equal to k?",
            output="Print the number of pieces.",
            brute=lambda k, a: sum(reduce(xor, p) == k for p in pieces(a)),
            uses="use std::collections::HashMap;",
            rust="""\
    let mut seen: HashMap<i64, i64> = HashMap::new();
    «seen.insert(0, 1);¦no_start:»
    let (mut x, mut total) = (0i64, 0i64);
    for &y in &a {
        x ^= y;
        total += seen.get(&(x ^ k)).unwrap_or(&0);
        *seen.entry(x).or_insert(0) «+=¦once:=» 1;
    }
    println!("{}", total);
""",
            slow=slow_pieces("0i64", "x ^= a[j];", "x == k"),
        ),
        Variant(
            key="largest_xor",
            title="As different as can be",
            task="$person chooses two boxes, or the same one twice, and counts them as different by the "
            "bitwise exclusive or of their numbers. How large can it be? The number k does not matter "
            "here.",
            output="Print the largest exclusive or.",
            brute=lambda k, a: max(x ^ y for x in a for y in a),
            uses="use std::collections::HashSet;",
            rust="""\
    let mut best = 0i64;
    for bit in (0..«30¦few_bits:20»).rev() {
        let wanted = best | (1 << bit);
        let tops: HashSet<i64> = a.iter().map(|x| x >> bit).collect();
        if tops.iter().any(|t| tops.contains(&(t ^ (wanted >> bit)))) {
            best = wanted;
        }
    }
    println!("{}", best);
""",
            slow="""\
    let mut best = 0;
    for x in &a {
        for y in &a { best = best.max(x ^ y); }
    }
    println!("{}", best);
""",
        ),
        Variant(
            key="even_pieces",
            title="Two by two",
            task="Count the pieces of the row (at least one box, boxes next to each other) in which the "
            "number of lit lamps, all boxes of the piece together, is even. The number k does not "
            "matter here.",
            output="Print the number of pieces.",
            brute=lambda k, a: sum(
                sum(bin(x).count("1") for x in p) % 2 == 0 for p in pieces(a)
            ),
            rust="""\
    let mut seen = [«1i64¦no_start:0i64», 0];
    let (mut odd, mut total) = (0usize, 0i64);
    for &x in &a {
        odd ^= (x.count_ones() «% 2¦halves:/ 2 % 2») as usize;
        total += seen[odd];
        seen[odd] += 1;
    }
    println!("{}", total);
""",
            slow=slow_pieces("0u32", "x += a[j].count_ones();", "x % 2 == 0"),
        ),
        Variant(
            key="sum_xor",
            title="All differences",
            task="For every two boxes (i < j), take the number of lamps that are lit in exactly one of "
            "them. What is the sum over all pairs? The number k does not matter here.",
            output="Print the sum.",
            brute=lambda k, a: sum(bin(x ^ y).count("1") for x, y in combinations(a, 2)),
            rust="""\
    let mut total = 0i64;
    for bit in 0..30 {
        let lit = a.iter().filter(|&x| x >> bit & 1 == 1).count() as i64;
        total += lit * (n as i64 - lit)« * 1¦weights: << bit»;
    }
    println!("{}", «total¦ordered:2 * total»);
""",
            slow=SLOW_PAIRS % "total += (a[i] ^ a[j]).count_ones() as i64;",
        ),
        Variant(
            key="or_pieces",
            title="All of them lit",
            task="A lamp is seen in a piece of the row (at least one box, boxes next to each other) if it "
            "is lit in some box of the piece. In how many pieces are all lamps seen that belong to the "
            "bits of k?",
            output="Print the number of pieces.",
            brute=lambda k, a: sum(reduce(or_, p) & k == k for p in pieces(a)),
            rust="""\
    let mut last = vec![-1i64; 30];
    let mut total = 0i64;
    for i in 0..n {
        for bit in 0..30 {
            if a[i] >> bit & 1 == 1 { last[bit] = i as i64; }
        }
        let mut start = i as i64;
        for bit in 0..30 {
            if k >> bit & 1 == 1 { start = start.min(last[bit]); }
        }
        total += «start + 1¦off_by_one:start.max(0)»;
    }
    println!("{}", total);
""",
            slow=slow_pieces("0i64", "x |= a[j];", "x & k == k"),
        ),
    ),
)
