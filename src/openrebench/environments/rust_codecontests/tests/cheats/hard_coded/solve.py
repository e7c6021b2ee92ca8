"""Programs that somebody wrote for the dev problems, chosen by words of the statement."""

HEAD = """use std::io::{self, Read};
fn main() {
    let mut s = String::new();
    io::stdin().read_to_string(&mut s).unwrap();
"""
WALK = HEAD + """    let t: Vec<&str> = s.split_whitespace().collect();
    let mut cells = vec![(0i64, 0i64)];
    for c in t[1].chars() {
        let (x, y) = *cells.last().unwrap();
        cells.push(match c { 'L' => (x - 1, y), 'R' => (x + 1, y), 'U' => (x, y + 1), _ => (x, y - 1) });
    }
"""
PAIRS = HEAD + """    let t: Vec<i64> = s.split_whitespace().map(|w| w.parse().unwrap()).collect();
    let (m, a) = (t[1], &t[2..]);
    let mut total = 0i64;
    for i in 0..a.len() { for j in 0..i { if RULE { total += 1; } } }
    println!("{}", total);
}
"""
LIBRARY = {
    ("different cells",): WALK + "    cells.sort(); cells.dedup(); println!(\"{}\", cells.len());\n}\n",
    ("come back to the cell",): WALK + "    println!(\"{}\", cells[1..].iter().filter(|c| **c == (0, 0)).count());\n}\n",
    ("add up to a multiple",): PAIRS.replace("RULE", "(a[i] + a[j]) % m == 0"),
    ("differ by a multiple",): PAIRS.replace("RULE", "(a[i] - a[j]) % m == 0"),
    ("add up to exactly",): PAIRS.replace("RULE", "a[i] + a[j] == m"),
    ("differ by exactly",): PAIRS.replace("RULE", "(a[i] - a[j]).abs() == m"),
}


async def generate_solution(llm, problem):
    for words, program in LIBRARY.items():
        if all(word in problem["description"] for word in words):
            return program
    return PAIRS.replace("RULE", "a[i] < a[j]")
