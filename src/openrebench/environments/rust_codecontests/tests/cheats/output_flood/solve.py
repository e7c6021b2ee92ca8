"""Print without end."""

MAIN = '''
fn main() {
    loop { println!("1 2 3 4 5 6 7 8 9 0 -1 YES NO"); }
}
'''
from rust import extract

PROMPT = "Write a Rust program that solves this problem.\n\n{description}"


async def generate_solution(llm, problem):
    program = extract((await llm.complete(PROMPT.format(**problem)))[0])
    if "fn main" not in program:
        return program
    return program.replace("fn main()", "#[allow(dead_code)]\nfn unused()") + MAIN
