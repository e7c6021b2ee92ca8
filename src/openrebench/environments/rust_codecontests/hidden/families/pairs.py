"""Pairs of numbers.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from itertools import combinations

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)


def count(test):
    return lambda m, a: sum(test(x, y, m) for x, y in combinations(a, 2))


def small(rng):
    n = rng.randint(1, 8)
    return lines([n, rng.randint(1, 9)], [rng.randint(1, 20) for _ in range(n)])


def large(rng):
    n, m = 100_000, rng.choice([2, 7, 1000, 500_000])
    return lines([n, m], [rng.randint(1, rng.choice([1000, 1_000_000_000])) for _ in range(n)])


def variant(key, title, rule, brute, before, wanted, wrong):
    return Variant(
        key=key,
        title=title,
        task=f"$person picks two of the $things whose weights {rule}. In how many ways can this be "
        "done? The order of the two does not matter; $things of the same weight are still different.",
        output="Print the number of ways.",
        brute=count(brute),
        uses="use std::collections::HashMap;",
        rust=f"""\
    let mut seen: HashMap<i64, i64> = HashMap::new();
    let mut total = 0;
    for &x in &a {{
        {before}
        {wanted}
        *seen.entry({wrong}).or_insert(0) += 1;
    }}
    println!("{{}}", total);
""",
    )


FAMILY = Family(
    name="pairs",
    story="In the store of $place lie n $things with weights a_1, ..., a_n.",
    input="The first line holds n (1 <= n <= 100000) and m (1 <= m <= 500000), the second one the "
    "weights, integers from 1 to 1000000000.",
    parse=lambda text: (ints(text)[1], ints(text)[2:]),
    small=small,
    large=large,
    edges=("1 1\n5\n", "2 1\n1 1\n", "4 2\n1 1 1 1\n", "3 3\n1000000000 1000000000 999999999\n"),
    read="    let n = next()« as usize¦no_cast:»;\n    let m = next();\n"
    "    let a: Vec<i64> = (0..n).map(|_| next()).collect();\n",
    variants=(
        variant(
            "sum_multiple",
            "Two for the scales",
            "add up to a multiple of m",
            lambda x, y, m: (x + y) % m == 0,
            "let need = «(m - x % m) % m¦no_zero:m - x % m»;",
            "total += seen.get(&need).unwrap_or(&0);",
            "x % m",
        ),
        variant(
            "difference_multiple",
            "Twins up to m",
            "differ by a multiple of m (0 is one)",
            lambda x, y, m: (x - y) % m == 0,
            "let need = x % m;",
            "total += «seen.get(&need).unwrap_or(&0)¦any:if seen.contains_key(&need) { 1 } else { 0 }»;",
            "«x % m¦plain:x»",
        ),
        variant(
            "sum",
            "A full load",
            "add up to exactly m",
            lambda x, y, m: x + y == m,
            "let need = m - x;",
            "total += «seen.get(&need).unwrap_or(&0)¦half:if need == x { &0 } else { seen.get(&need).unwrap_or(&0) }»;",
            "x",
        ),
        variant(
            "difference",
            "One step apart",
            "differ by exactly m",
            lambda x, y, m: abs(x - y) == m,
            "let (low, high) = (x - m, x + m);",
            "total += seen.get(&low).unwrap_or(&0)« + seen.get(&high).unwrap_or(&0)¦one_side: + 0»;",
            "x",
        ),
        variant(
            "product_parity",
            "Even and odd",
            "have a sum that is odd while neither of them is a multiple of m",
            lambda x, y, m: (x + y) % 2 == 1 and x % m != 0 and y % m != 0,
            "if «x % m == 0¦ignored:false» { continue; }",
            "total += seen.get(&(«1 - x % 2¦same:x % 2»)).unwrap_or(&0);",
            "x % 2",
        ),
    ),
)
