"""Ways through a grid.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from openrebench.environments.rust_codecontests.hidden.families.base import (
    Family,
    Variant,
    ints,
    lines,
)

P = 1_000_000_007


def parse(text):
    numbers = ints(text)
    rows, columns = numbers[:2]
    return ([numbers[2 + r * columns : 2 + (r + 1) * columns] for r in range(rows)],)


def small(rng):
    rows, columns = rng.randint(1, 4), rng.randint(1, 4)
    walls = rng.random() < 0.7
    return lines(
        [rows, columns],
        *[
            [0 if walls and rng.random() < 0.2 else rng.randint(1, 9) for _ in range(columns)]
            for _ in range(rows)
        ],
    )


def large(rng):
    rows, columns = 300, rng.choice([200, 300])
    walls = rng.choice([0.0, 0.01, 0.1])
    top = rng.choice([9, 1_000_000_000])
    table = [
        [0 if rng.random() < walls else rng.randint(1, top) for _ in range(columns)]
        for _ in range(rows)
    ]
    table[0][0] = table[-1][-1] = 1
    return lines([rows, columns], *table)


def ways(grid, moves=((0, 1), (1, 0))):
    """All ways as lists of cells, by trying them."""
    rows, columns = len(grid), len(grid[0])

    def onwards(r, c):
        if r >= rows or c >= columns or grid[r][c] == 0:
            return
        if (r, c) == (rows - 1, columns - 1):
            yield [(r, c)]
        for dr, dc in moves:
            for rest in onwards(r + dr, c + dc):
                yield [(r, c), *rest]

    return list(onwards(0, 0))


def values(grid, way):
    return [grid[r][c] for r, c in way]


def never_twice_down(way):
    downs = [a[0] != b[0] for a, b in zip(way, way[1:])]
    return not any(a and b for a, b in zip(downs, downs[1:]))


LOOP = """\
    for r in 0..h {
        for c in 0..w {
            if g[r][c] == 0 { continue; }
%s        }
    }
"""

FAMILY = Family(
    name="grid",
    story="$hero crosses the swamp of $place, a table of h rows and w columns. It starts in the cell "
    "at the top left and must get to the one at the bottom right. A cell with the number 0 is open "
    "water and must not be entered; the start and the end may be open water too, and then there is "
    "no way at all.",
    input="The first line holds h and w (1 <= h, w <= 300); h lines follow with w integers from 0 to "
    "1000000000 each.",
    parse=parse,
    small=small,
    large=large,
    edges=("1 1\n5\n", "1 1\n0\n", "1 4\n1 2 3 4\n", "3 1\n1\n0\n1\n", "2 2\n1 1\n1 1\n", "3 3\n1 9 1\n9 1 9\n1 9 1\n"),
    read="    let h = next()« as usize¦no_cast:»;\n    let w = next() as usize;\n"
    "    let g: Vec<Vec<i64>> = (0..h).map(|_| (0..w).map(|_| next()).collect()).collect();\n",
    variants=(
        Variant(
            key="ways",
            title="Ways through the swamp",
            task="A step leads one cell to the right or one cell down. How many ways are there?",
            output="Print the number of ways modulo 1000000007.",
            brute=lambda grid: len(ways(grid)) % P,
            rust="    let p = 1_000_000_007i64;\n    let mut f = vec![vec![0i64; w]; h];\n"
            + LOOP
            % """\
            if r == 0 && c == 0 { f[r][c] = 1; }
            if r > 0 { f[r][c] += f[r - 1][c]; }
            if c > 0 { f[r][c] += f[r][c - 1]; }
            «f[r][c] %= p;¦no_mod:»
"""
            + '    println!("{}", f[h - 1][w - 1]« % p¦no_mod:»);\n',
        ),
        Variant(
            key="cheapest",
            title="Mud on the boots",
            task="A step leads one cell to the right or one cell down. The number of a cell is the mud "
            "that it leaves on the boots. What is the smallest sum of the mud on a way, start and "
            "end included?",
            output="Print the smallest sum, or -1 if there is no way.",
            brute=lambda grid: min((sum(values(grid, way)) for way in ways(grid)), default=-1),
            rust="    let far = 1i64 << 60;\n    let mut f = vec![vec![far; w]; h];\n"
            + LOOP
            % """\
            let mut best = if r == 0 && c == 0 { «0¦no_start:-g[0][0]» } else { far };
            if r > 0 { best = best.min(f[r - 1][c]); }
            if c > 0 { best = best.min(f[r][c - 1]); }
            if best < far { f[r][c] = best + g[r][c]; }
"""
            + '    println!("{}", if f[h - 1][w - 1] «>=¦never:>» far { -1 } else { f[h - 1][w - 1] });\n',
        ),
        Variant(
            key="coins",
            title="Berries with shortcuts",
            task="A step leads one cell to the right, one cell down, or one cell to the right and down "
            "at once. The number of a cell is how many berries grow there. How many berries can "
            "$hero collect on one way, at most?",
            output="Print the largest number of berries, or -1 if there is no way.",
            brute=lambda grid: max(
                (sum(values(grid, way)) for way in ways(grid, ((0, 1), (1, 0), (1, 1)))), default=-1
            ),
            rust="    let mut f = vec![vec![-1i64; w]; h];\n"
            + LOOP
            % """\
            let mut best = if r == 0 && c == 0 { 0 } else { -1 };
            if r > 0 { best = best.max(f[r - 1][c]); }
            if c > 0 { best = best.max(f[r][c - 1]); }
            «if r > 0 && c > 0 { best = best.max(f[r - 1][c - 1]); }¦no_diagonal:»
            if best >= 0 { f[r][c] = best + g[r][c]; }
"""
            + '    println!("{}", f[h - 1][w - 1]);\n',
        ),
        Variant(
            key="never_twice",
            title="Never twice down",
            task="A step leads one cell to the right or one cell down, but two steps down never follow "
            "each other directly. How many ways are there?",
            output="Print the number of ways modulo 1000000007.",
            brute=lambda grid: sum(map(never_twice_down, ways(grid))) % P,
            rust="    let p = 1_000_000_007i64;\n    let mut f = vec![vec![[0i64; 2]; w]; h];\n"
            + LOOP
            % """\
            if r == 0 && c == 0 { f[r][c][0] = 1; }
            if r > 0 { f[r][c][1] = «f[r - 1][c][0]¦any:f[r - 1][c][0] + f[r - 1][c][1]»; }
            if c > 0 { f[r][c][0] += (f[r][c - 1][0] + f[r][c - 1][1])« % p¦no_mod:»; }
            f[r][c][1] %= p;
"""
            + '    println!("{}", (f[h - 1][w - 1][0]« + f[h - 1][w - 1][1]¦one_end:») % p);\n',
        ),
        Variant(
            key="bottleneck",
            title="The heavy load",
            task="A step leads one cell to the right or one cell down. The number of a cell is the load "
            "that it bears. With what load can $hero cross, at most?",
            output="Print the largest load, or 0 if there is no way.",
            brute=lambda grid: max((min(values(grid, way)) for way in ways(grid)), default=0),
            rust="    let mut f = vec![vec![0i64; w]; h];\n"
            + LOOP
            % """\
            let mut best = if r == 0 && c == 0 { g[r][c] } else { 0 };
            if r > 0 { best = best.max(f[r - 1][c]); }
            if c > 0 { best = best.«max¦least:min»(f[r][c - 1]); }
            f[r][c] = best.min(«g[r][c]¦no_end:if r == h - 1 && c == w - 1 { best } else { g[r][c] }»);
"""
            + '    println!("{}", f[h - 1][w - 1]);\n',
        ),
    ),
)
