"""Windows of a row.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)


def count(test):
    return lambda k, m, a: sum(test(a[i : i + k], m) for i in range(len(a) - k + 1))


def small(rng):
    n = rng.randint(2, 9)
    return lines([n, rng.randint(1, n), rng.randint(1, 6)], [rng.randint(1, 9) for _ in range(n)])


def large(rng):
    n = 100_000
    k = rng.randint(30_000, 50_000)
    top = rng.choice([20, 1_000_000_000])
    m = rng.choice([3, 5, 20, 900_000_000, 24_500, 25_000])
    return lines([n, k, m], [rng.randint(1, top) for _ in range(n)])


SUMS = """\
    let mut sum = 0i64;
    for i in 0..n {
        sum += a[i];
        if i >= k {
            sum -= a[i - k];
        }
        if i + 1 >= k && %s {
            total += 1;
        }
    }
"""
SUMS_SLOW = """\
    for i in 0..n - k + 1 {
        let mut sum = 0i64;
        for j in i..i + k {
            sum += a[j];
        }
        if %s {
            total += 1;
        }
    }
"""
DISTINCT = """\
    let mut seen: HashMap<i64, usize> = HashMap::new();
    for i in 0..n {
        *seen.entry(a[i]).or_insert(0) += 1;
        if i >= k {
            let c = seen.get_mut(&a[i - k]).unwrap();
            *c -= 1;
            «if *c == 0 {
                seen.remove(&a[i - k]);
            }¦not_removed:»
        }
        if i + 1 >= k && seen.len() «>=¦strict:>» m as usize {
            total += 1;
        }
    }
"""
SPAN = """\
    let mut high: VecDeque<usize> = VecDeque::new();
    let mut low: VecDeque<usize> = VecDeque::new();
    for i in 0..n {
        while high.back().map_or(false, |&j| a[j] <= a[i]) { high.pop_back(); }
        while low.back().map_or(false, |&j| a[j] >= a[i]) { low.pop_back(); }
        high.push_back(i);
        low.push_back(i);
        if high[0] + k «<=¦off_by_one:<» i { high.pop_front(); }
        if low[0] + k <= i { low.pop_front(); }
        if i + 1 >= k && a[high[0]] - a[low[0]] «<=¦strict:<» m {
            total += 1;
        }
    }
"""
SPAN_SLOW = """\
    for i in 0..n - k + 1 {
        let w = &a[i..i + k];
        if *w.iter().max().unwrap() - *w.iter().min().unwrap() <= m {
            total += 1;
        }
    }
"""
RISES = """\
    let mut rises = 0i64;
    for i in 0..n {
        if i > 0 && a[i] «>¦equal:>=» a[i - 1] { rises += 1; }
        if i >= k && «i - k + 1 < n && a[i - k + 1] > a[i - k]¦off_by_one:i > k && a[i - k] > a[i - k - 1]» { rises -= 1; }
        if i + 1 >= k && rises >= m {
            total += 1;
        }
    }
"""


def variant(key, title, rule, test, rust, uses=""):
    return Variant(
        key=key,
        title=title,
        task=f"$person photographs k neighbouring $things at a time. How many of these photographs {rule}?",
        output="Print the number of photographs.",
        brute=count(test),
        uses=uses,
        rust="    let mut total = 0;\n" + rust + '    println!("{}", total);\n',
    )


def with_slow(fast, slow):
    return "«" + fast + "¦slow:" + slow + "»"


FAMILY = Family(
    name="windows",
    story="In a row on the market of $place stand n $things; the i-th one costs a_i.",
    input="The first line holds n (1 <= n <= 100000), k (1 <= k <= n) and m (1 <= m <= 1000000000), "
    "the second one the costs, integers from 1 to 1000000000.",
    parse=lambda text: (ints(text)[1], ints(text)[2], ints(text)[3:]),
    small=small,
    large=large,
    edges=("1 1 1\n1\n", "3 3 1\n5 5 5\n", "4 1 2\n1 2 3 4\n", "5 2 3\n3 3 3 3 3\n"),
    read="    let n = next()« as usize¦no_cast:»;\n    let k = next() as usize;\n    let m = next();\n"
    "    let a: Vec<i64> = (0..n).map(|_| next()).collect();\n",
    variants=(
        variant(
            "sum_multiple",
            "Photographs of equal value",
            "show $things whose costs add up to a multiple of m",
            lambda w, m: sum(w) % m == 0,
            with_slow(SUMS % "sum % m == 0", SUMS_SLOW % "sum % m == 0"),
        ),
        variant(
            "span",
            "Even prices",
            "show $things of which no two differ in cost by more than m",
            lambda w, m: max(w) - min(w) <= m,
            SPAN,
            "use std::collections::VecDeque;",
        ),
        variant(
            "distinct",
            "Colourful photographs",
            "show at least m different costs",
            lambda w, m: len(set(w)) >= m,
            DISTINCT,
            "use std::collections::HashMap;",
        ),
        variant(
            "rises",
            "Climbing prices",
            "show at least m places where a $thing is directly followed by a dearer one",
            lambda w, m: sum(x < y for x, y in zip(w, w[1:])) >= m,
            RISES,
        ),
        variant(
            "mean",
            "Dear photographs",
            "show $things that cost more than m on average",
            lambda w, m: sum(w) > m * len(w),
            with_slow(SUMS % "sum > m * k as i64", SUMS_SLOW % "sum > m * k as i64"),
        ),
    ),
)
