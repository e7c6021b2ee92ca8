"""Coins and bags.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from itertools import combinations

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)

P = 1_000_000_007


def small(rng):
    n = rng.randint(1, 6)
    return lines([n, rng.randint(1, 14)], [rng.randint(1, 9) for _ in range(n)])


def large(rng):
    n = 100
    top = rng.choice([100, 10_000])
    return lines([n, rng.randint(9_000, 10_000)], [rng.randint(1, top) for _ in range(n)])


def subsets(a):
    return [c for k in range(len(a) + 1) for c in combinations(a, k)]


def fewest(w, a):
    reached, coins = {0}, 0
    while w not in reached:
        more = {s + c for s in reached for c in a if s + c <= w} | reached
        if more == reached:
            return -1
        reached, coins = more, coins + 1
    return coins


def ways(w, kinds):
    if not kinds:
        return int(w == 0)
    return sum(ways(w - taken, kinds[1:]) for taken in range(0, w + 1, kinds[0]))


FAMILY = Family(
    name="market",
    story="At the market of $place there are n $things; the i-th one weighs a_i pounds. $person has a "
    "cart for w pounds.",
    input="The first line holds n (1 <= n <= 100) and w (1 <= w <= 10000), the second one the weights, "
    "integers from 1 to 10000.",
    parse=lambda text: (ints(text)[1], ints(text)[2:]),
    small=small,
    large=large,
    edges=("1 1\n1\n", "1 3\n2\n", "3 6\n2 2 2\n", "4 7\n5 5 5 5\n", "2 10000\n9999 1\n"),
    read="    let n = next()« as usize¦no_cast:»;\n    let w = next() as usize;\n"
    "    let a: Vec<usize> = (0..n).map(|_| next() as usize).collect();\n",
    variants=(
        Variant(
            key="fewest",
            title="As few as possible",
            task="There is any number of $things of each of these weights. How few of them load the cart "
            "with exactly w pounds?",
            output="Print the smallest number, or -1 if it can't be done.",
            brute=fewest,
            rust="""\
    let mut f = vec![i64::max_value(); w + 1];
    f[0] = 0;
    for s in 1..w + 1 {
        for &c in &a {
            if c <= s && f[s - c] < i64::max_value() { f[s] = f[s].min(f[s - c] + 1); }
        }
    }
    println!("{}", if f[w] == i64::max_value() { «-1¦zero:0» } else { f[w] });
""",
            slow="""\
    fn go(s: usize, a: &[usize]) -> i64 {
        if s == 0 { return 0; }
        let mut best = -1;
        for &c in a {
            if c <= s {
                let r = go(s - c, a);
                if r >= 0 && (best < 0 || r + 1 < best) { best = r + 1; }
            }
        }
        best
    }
    println!("{}", go(w, &a));
""",
        ),
        Variant(
            key="ways",
            title="How many loads",
            task="There is any number of $things of each of these weights; equal weights in the list mean "
            "one kind only. In how many ways can the cart be loaded with exactly w pounds? Only how "
            "many of each kind are taken matters, not their order.",
            output="Print the number of ways modulo 1000000007.",
            brute=lambda w, a: ways(w, sorted(set(a))) % P,
            rust="""\
    let mut kinds = a.clone();
    kinds.sort();
    «kinds.dedup();¦twice:»
    let mut f = vec![0i64; w + 1];
    f[0] = 1;
    for &c in &kinds {
        for s in c..w + 1 {
            f[s] = «(f[s] + f[s - c]) % 1_000_000_007¦no_mod:f[s].wrapping_add(f[s - c])»;
        }
    }
    println!("{}", f[w]« % 1_000_000_007¦no_mod: % 1_000_000_007»);
""".replace("« % 1_000_000_007¦no_mod: % 1_000_000_007»", " % 1_000_000_007"),
            slow="""\
    fn go(s: usize, kinds: &[usize]) -> i64 {
        if s == 0 { return 1; }
        if kinds.is_empty() { return 0; }
        let mut total = go(s, &kinds[1..]);
        if kinds[0] <= s { total += go(s - kinds[0], kinds); }
        total % 1_000_000_007
    }
    let mut kinds = a.clone();
    kinds.sort();
    kinds.dedup();
    println!("{}", go(w, &kinds));
""",
        ),
        Variant(
            key="heaviest",
            title="The full cart",
            task="Each of the $things is there once. What is the heaviest load, each of them taken once or "
            "not at all, that the cart bears?",
            output="Print the weight of the heaviest load in pounds.",
            brute=lambda w, a: max(sum(c) for c in subsets(a) if sum(c) <= w),
            rust="""\
    let mut f = vec![false; w + 1];
    f[0] = true;
    for &c in &a {
        for s in «(c..w + 1).rev()¦many_times:c..w + 1» {
            if f[s - c] { f[s] = true; }
        }
    }
    println!("{}", (0..w + 1).rev().find(|&s| f[s]).unwrap());
""",
            slow="""\
    fn go(room: usize, a: &[usize]) -> usize {
        if a.is_empty() { return 0; }
        let mut best = go(room, &a[1..]);
        if a[0] <= room { best = best.max(a[0] + go(room - a[0], &a[1..])); }
        best
    }
    println!("{}", go(w, &a));
""",
        ),
        Variant(
            key="loads",
            title="Every possible load",
            task="Each of the $things is there once. How many different weights of up to w pounds can the "
            "load have, if exactly one or more of them are taken?",
            output="Print the number of weights.",
            brute=lambda w, a: len({sum(c) for c in subsets(a) if c and sum(c) <= w}),
            rust="""\
    let mut f = vec![false; w + 1];
    f[0] = true;
    for &c in &a {
        for s in «(c..w + 1).rev()¦many_times:c..w + 1» {
            if f[s - c] { f[s] = true; }
        }
    }
    println!("{}", f.iter().filter(|&&x| x).count()« - 1¦with_nothing:»);
""",
        ),
        Variant(
            key="two_carts",
            title="Two carts",
            task="Each of the $things is there once. $person takes all of them and has two carts; one of "
            "them, the good one, may bear w pounds at most. How much heavier than the good cart's load "
            "is the other one's, at least? (It may be lighter: then the difference is negative.)",
            output="Print the load of the other cart minus that of the good one, the smallest possible.",
            brute=lambda w, a: min(sum(a) - 2 * sum(c) for c in subsets(a) if sum(c) <= w),
            rust="""\
    let mut f = vec![false; w + 1];
    f[0] = true;
    for &c in &a {
        for s in «(c..w + 1).rev()¦many_times:c..w + 1» {
            if f[s - c] { f[s] = true; }
        }
    }
    let best = (0..w + 1).rev().find(|&s| f[s]).unwrap() as i64;
    let all: i64 = a.iter().map(|&c| c as i64).sum();
    println!("{}", «all - 2 * best¦absolute:(all - 2 * best).abs()¦half:all - best»);
""",
        ),
    ),
)
