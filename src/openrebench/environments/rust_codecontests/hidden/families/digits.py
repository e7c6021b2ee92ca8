"""Numbers with a property of their digits.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)

TOP = 1_000_000


def parse(text):
    numbers = ints(text)
    return numbers[1], list(zip(numbers[2::2], numbers[3::2]))


def small(rng):
    rows = []
    for _ in range(rng.randint(1, 3)):
        left = rng.choice([rng.randint(1, 200), rng.randint(1, 3000)])
        rows.append([left, left + rng.randint(0, 300)])
    return lines([len(rows), rng.randint(2, 5)], *rows)


def large(rng):
    rows = [[rng.randint(1, 1000), rng.randint(TOP - 1000, TOP)] for _ in range(3000)]
    return lines([len(rows), rng.randint(2, 5)], *rows)


def total(test):
    return lambda m, spans: sum(test(x, m) for a, b in spans for x in range(a, b + 1))


def in_base(x, m):
    found = []
    while x:
        found.append(x % m)
        x //= m
    return found


def zigzag(x):
    digits = [int(c) for c in str(x)]
    return all((a + b) % 2 == 1 for a, b in zip(digits, digits[1:]))


FAST = """\
    let top = 1_000_000usize;
    let mut before = vec![0i64; top + 2];
    for x in 1..top«¦last: - 1» + 1 {
        before[x + 1] = before[x] + if good(x as i64, m) { 1 } else { 0 };
    }
    let mut total = 0i64;
    for _ in 0..q {
        let (a, b) = (next() as usize, next() as usize);
        total += before[b + 1] - before[«a¦off_by_one:a + 1»];
    }
"""
SLOW_WAY = """\
    let mut total = 0i64;
    for _ in 0..q {
        let (a, b) = (next(), next());
        for x in a..b + 1 {
            if good(x, m) { total += 1; }
        }
    }
"""


def variant(key, title, rule, test, good):
    return Variant(
        key=key,
        title=title,
        task=f"$person calls a number lucky if {rule}. For every query, count the lucky numbers x "
        "with a <= x <= b.",
        output="Print one number: the sum of the answers to all queries.",
        brute=total(test),
        uses="fn good(x: i64, m: i64) -> bool {\n" + good + "}",
        rust=FAST + '    println!("{}", total);\n',
        slow=SLOW_WAY + '    println!("{}", total);\n',
    )


FAMILY = Family(
    name="digits",
    story="The lottery of $place sells tickets with the numbers 1 to 1000000. $hero has q queries "
    "about them.",
    input="The first line holds q (1 <= q <= 3000) and m (2 <= m <= 5); q lines follow with a and b "
    "each (1 <= a <= b <= 1000000).",
    parse=parse,
    small=small,
    large=large,
    edges=("1 2\n1 1\n", "1 3\n10 10\n", "2 5\n99 101\n1 9\n", "1 4\n1 1000\n"),
    read="    let q = next()« as usize¦no_cast:»;\n    let m = next();\n",
    variants=(
        variant(
            "digit_sum",
            "Sums of digits",
            "the sum of its decimal digits is a multiple of m",
            lambda x, m: sum(map(int, str(x))) % m == 0,
            """\
    let (mut y, mut sum) = (x, 0);
    while y > «0¦stops_early:9» {
        sum += y % 10;
        y /= 10;
    }
    sum % m == 0
""",
        ),
        variant(
            "zigzag",
            "Odd, even, odd",
            "of any two neighbouring decimal digits one is even and one is odd, and the number "
            "itself is not a multiple of m",
            lambda x, m: zigzag(x) and x % m != 0,
            """\
    let mut y = x;
    while y >= 10 {
        if (y % 10 + y / 10 % 10) % 2 == 0 { return false; }
        y /= «10¦skips:100»;
    }
    x % m «!= 0¦reversed:== 0»
""",
        ),
        variant(
            "different",
            "So many digits",
            "exactly m different digits occur in it",
            lambda x, m: len(set(str(x))) == m,
            """\
    let (mut y, mut seen) = (x, 0u32);
    while y > 0 {
        seen |= 1 << (y % 10);
        y /= 10;
    }
    seen.count_ones() as i64 «==¦at_least:>=» m
""",
        ),
        variant(
            "palindrome",
            "The same from behind",
            "it reads the same from both ends when written in base m",
            lambda x, m: in_base(x, m) == in_base(x, m)[::-1],
            """\
    let (mut y, mut back) = (x, 0i64);
    while y > 0 {
        back = back * «m¦ten:10» + y % «m¦ten:10»;
        y /= «m¦ten:10»;
    }
    «back == x¦not_one:back == x && x >= m»
""",
        ),
        variant(
            "largest",
            "The largest digit",
            "its largest decimal digit is a multiple of m and occurs in it once only",
            lambda x, m: int(max(str(x))) % m == 0 and str(x).count(max(str(x))) == 1,
            """\
    let (mut y, mut best, mut count) = (x, -1, 0);
    while y > 0 {
        let d = y % 10;
        if d > best {
            best = d;
            count = «1¦kept:count + 1»;
        } else if d == best {
            count += 1;
        }
        y /= 10;
    }
    best % m == 0« && count == 1¦no_count:»
""",
        ),
    ),
)
