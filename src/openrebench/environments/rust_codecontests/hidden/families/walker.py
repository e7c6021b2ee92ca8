"""Moves on a grid.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from openrebench.environments.rust_codecontests.hidden.families.base import (
    WORDS,
    Family,
    Variant,
    lines,
)

STEP = {"L": (-1, 0), "R": (1, 0), "U": (0, 1), "D": (0, -1)}


def path(moves):
    x = y = 0
    cells = [(0, 0)]
    for move in moves:
        x, y = x + STEP[move][0], y + STEP[move][1]
        cells.append((x, y))
    return cells


def revisit(moves):
    cells = path(moves)
    return next((k for k in range(1, len(cells)) if cells[k] in cells[:k]), -1)


def box(moves):
    cells = path(moves)
    xs, ys = [c[0] for c in cells], [c[1] for c in cells]
    return (max(xs) - min(xs) + 1) * (max(ys) - min(ys) + 1)


def small(rng):
    n = rng.randint(1, 9)
    return lines(n, "".join(rng.choice("LRUD") for _ in range(n)))


def large(rng):
    n = 100_000
    weights = rng.choice([(5, 4, 4, 5), (1, 6, 6, 1), (9, 1, 1, 9)])
    return lines(n, "".join(rng.choices("LRUD", weights, k=n)))


MOVE = """\
        match c {
            'L' => x -= 1,
            'R' => x += 1,
            'U' => y += 1,
            _ => y -= 1,
        }
"""
FAMILY = Family(
    name="walker",
    story="$hero the robot stands on cell (0, 0) of the endless floor of $place. Its program is a "
    "string of moves: L and R change the first coordinate by -1 and +1, D and U change the second "
    "one by -1 and +1.",
    input="The first line holds n (1 <= n <= 100000), the second one the program, n letters out of "
    "L, R, U and D.",
    parse=lambda text: (text.split()[1],),
    small=small,
    large=large,
    edges=("1\nL\n", "2\nLR\n", "4\nLURD\n"),
    head=WORDS,
    read="    let n = it.next().unwrap()«.parse::<usize>().unwrap()¦no_cast:»;\n"
    "    let moves: Vec<char> = it.next().unwrap().chars().take(n).collect();\n"
    "    let (mut x, mut y) = (0i64, 0i64);\n",
    variants=(
        Variant(
            key="distinct",
            title="Footprints",
            task="How many different cells does $hero stand on, the first one included?",
            output="Print the number of cells.",
            brute=lambda moves: len(set(path(moves))),
            uses="use std::collections::HashSet;",
            rust="""\
    let mut seen = HashSet::new();
    «seen.insert((x, y));¦no_start:»
    for &c in &moves {
"""
            + MOVE
            + """\
        seen.insert((«x, y¦mixed:x + y, 0»));
    }
    println!("{}", seen.len());
""",
        ),
        Variant(
            key="revisit",
            title="Back again",
            task="After how many moves does $hero for the first time come to a cell where it has "
            "stood before?",
            output="Print the number of moves, or -1 if it never happens.",
            brute=revisit,
            uses="use std::collections::HashSet;",
            rust="""\
    let mut seen = HashSet::new();
    «seen.insert((x, y));¦no_start:»
    let mut answer = -1i64;
    for (k, &c) in moves.iter().enumerate() {
"""
            + MOVE
            + """\
        if !seen.insert((x, y)) {
            answer = k as i64« + 1¦off_by_one:»;
            break;
        }
    }
    println!("{}", answer);
""",
        ),
        Variant(
            key="farthest",
            title="How far from home",
            task="Among all moments, what is the largest distance |x| + |y| of $hero from its "
            "first cell?",
            output="Print the largest distance.",
            brute=lambda moves: max(abs(x) + abs(y) for x, y in path(moves)),
            rust="""\
    let mut best = 0i64;
    for &c in &moves {
"""
            + MOVE
            + """\
        best = best.max(«x.abs() + y.abs()¦chebyshev:x.abs().max(y.abs())¦signed:(x + y).abs()»);
    }
    println!("{}", best);
""",
        ),
        Variant(
            key="returns",
            title="Home visits",
            task="How many times does $hero come back to the cell (0, 0)? The first moment does "
            "not count.",
            output="Print the number of returns.",
            brute=lambda moves: path(moves)[1:].count((0, 0)),
            rust="""\
    let mut count = «0¦off_by_one:1»;
    for &c in &moves {
"""
            + MOVE
            + """\
        if «x == 0 && y == 0¦sum:x + y == 0» {
            count += 1;
        }
    }
    println!("{}", count);
""",
        ),
        Variant(
            key="box",
            title="A carpet for the robot",
            task="$person wants to lay a rectangular carpet, its sides along the axes, that covers "
            "every cell on which $hero stands. How many cells has the smallest one?",
            output="Print the number of cells of the smallest carpet.",
            brute=box,
            rust="""\
    let (mut left, mut right, mut low, mut high) = (0i64, 0i64, 0i64, 0i64);
    for &c in &moves {
"""
            + MOVE
            + """\
        left = left.min(x);
        right = right.max(x);
        low = low.min(y);
        high = high.max(y);
    }
    println!("{}", (right - left« + 1¦off_by_one:») * (high - low« + 1¦off_by_one:¦one_side:»));
""",
        ),
    ),
)
