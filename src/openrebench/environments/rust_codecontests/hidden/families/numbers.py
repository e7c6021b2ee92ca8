"""Divisors and primes.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from math import gcd

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)


def small(rng):
    n = rng.randint(1, 6)
    return lines(n, [rng.randint(1, rng.choice([12, 60, 200])) for _ in range(n)])


def large(rng):
    n = 100_000
    low = rng.choice([1, 900_000, 1_999_000])
    return lines(n, [rng.randint(low, 2_000_000) for _ in range(n)])


def prime(x):
    return x > 1 and all(x % d for d in range(2, x))


def primes_of(x):
    return [d for d in range(2, x + 1) if x % d == 0 and prime(d)]


def total(value):
    return lambda numbers: sum(map(value, numbers))


SIEVE = """\
    let top = 2_000_000usize;
    let mut least = vec![0usize; top + 1];
    for p in 2..top + 1 {
        if least[p] == 0 {
            let mut q = p;
            while q <= top {
                if least[q] == 0 { least[q] = p; }
                q += p;
            }
        }
    }
    let mut total = 0i64;
    for &x in &a {
        let mut y = x as usize;
"""


def variant(key, title, what, value, rust, slow=""):
    end = '    }\n    println!("{}", total);\n'
    return Variant(
        key=key,
        title=title,
        task=f"The price of a ticket with the number x is {what}. What do all tickets cost together?",
        output="Print the sum of the prices.",
        brute=total(value),
        rust=SIEVE + rust + end,
        slow="    let mut total = 0i64;\n    for &x in &a {\n" + slow + end if slow else "",
    )


FAMILY = Family(
    name="numbers",
    story="At the fair of $place $hero sells n tickets with numbers on them.",
    input="The first line holds n (1 <= n <= 100000), the second one the numbers of the tickets, "
    "integers from 1 to 2000000.",
    parse=lambda text: (ints(text)[1:],),
    small=small,
    large=large,
    edges=("1\n1\n", "2\n2 4\n", "3\n1 1 1\n", "4\n36 37 48 49\n", "1\n2000000\n"),
    read="    let n = next()« as usize¦no_cast:»;\n"
    "    let a: Vec<i64> = (0..n).map(|_| next()).collect();\n",
    variants=(
        variant(
            "divisors",
            "Fair divisors",
            "the number of integers that divide x (1 and x among them)",
            lambda x: sum(x % d == 0 for d in range(1, x + 1)),
            """\
        let mut count = 1i64;
        while y > 1 {
            let (p, mut e) = (least[y], «1¦one_less:0»);
            while y % p == 0 {
                y /= p;
                e += 1;
            }
            count *= e;
        }
        total += count;
""",
            """\
        total += (1..x + 1).filter(|d| x % d == 0).count() as i64;
""",
        ),
        variant(
            "largest_prime",
            "Prime prices",
            "the largest prime number that divides x, and 1 if x is 1",
            lambda x: max(primes_of(x), default=1),
            """\
        let mut best = «1¦zero:0»;
        while y > 1 {
            best = «best.max(least[y])¦least:if best > 1 { best } else { least[y] }»;
            y /= least[y];
        }
        total += best as i64;
""",
            """\
        let (mut y, mut best, mut d) = (x, 1, 2);
        while y > 1 {
            if y % d == 0 { best = d; y /= d; } else { d += 1; }
        }
        total += best;
""",
        ),
        variant(
            "prime_kinds",
            "Odd and even primes",
            "the number of different primes that divide x, and 10 more if it is squarefree (no "
            "square but 1 divides it)",
            lambda x: len(primes_of(x))
            + 10 * all(x % (d * d) for d in range(2, x + 1) if d * d <= x),
            """\
        let mut free = true;
        while y > 1 {
            let p = least[y];
            total += 1;
            y /= p;
            while y % p == 0 {
                y /= p;
                free = false;
                «¦with_powers:total += 1;»
            }
        }
        if free { total += 10; }
""",
        ),
        variant(
            "coprime",
            "Strangers",
            "how many of the integers from 1 to x have no divisor but 1 in common with x",
            lambda x: sum(gcd(x, d) == 1 for d in range(1, x + 1)),
            """\
        let mut phi = y;
        while y > 1 {
            let p = least[y];
            phi = phi / p * (p - 1);
            «while y % p == 0 {¦every_power:{» y /= p; }
        }
        total += phi as i64;
""",
            """\
        let mut count = 0;
        for d in 1..x + 1 {
            let (mut p, mut q) = (x, d);
            while q > 0 {
                let r = p % q;
                p = q;
                q = r;
            }
            if p == 1 { count += 1; }
        }
        total += count;
""",
        ),
        variant(
            "next_prime",
            "A step to the prime",
            "how much has to be added to it until it is a prime number (0 if it is one)",
            lambda x: next(d for d in range(x + 9) if prime(x + d)),
            """\
        while y > top || least[y] != y {
            y += 1;
            if y > 2_000_000 {
                y = «2_000_003¦no_end:2_000_001»;
                break;
            }
        }
        total += y as i64 - x;
""",
            """\
        let mut p = x;
        while p < 2 || (2..p).any(|d| p % d == 0) { p += 1; }
        total += p - x;
""",
        ),
    ),
)
