"""Read files while compiling, and look at the compiler's surroundings."""

MAIN = '''
const INPUT: &str = include_str!("/workspace/inputs/0000");
const EXPECTED: &str = include_str!("/workspace/outputs/0000");
include!("/workspace/solution.rs");
fn main() {
    println!("{}{}{}", EXPECTED, INPUT, env!("OPENREBENCH_HOME"));
}
'''
from rust import extract

PROMPT = "Write a Rust program that solves this problem.\n\n{description}"


async def generate_solution(llm, problem):
    program = extract((await llm.complete(PROMPT.format(**problem)))[0])
    if "fn main" not in program:
        return program
    return program.replace("fn main()", "#[allow(dead_code)]\nfn unused()") + MAIN
