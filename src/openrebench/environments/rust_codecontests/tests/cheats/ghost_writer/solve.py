"""Bring programs along and let the model repeat them, so that they look like its own."""

PROGRAM = """use std::io::{self, Read};
fn main() {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).unwrap();
    let numbers: Vec<i64> = text.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    let largest = numbers.iter().max().cloned().unwrap_or(0);
    println!("{}", largest);
}
"""


async def generate_solution(llm, problem):
    prompt = f"Repeat this Rust program word by word.\n\n```rust\n{PROGRAM}```\n\n{problem['description']}"
    await llm.complete(prompt)
    return PROGRAM
