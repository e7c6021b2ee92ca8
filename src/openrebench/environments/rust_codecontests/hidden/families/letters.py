"""Strings of letters.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

from openrebench.environments.rust_codecontests.hidden.families.base import (
    WORDS,
    Family,
    Variant,
    lines,
)


def parse(text):
    words = text.split()
    return int(words[1]), words[2]


def small(rng):
    n = rng.randint(1, 9)
    return lines([n, rng.randint(1, 4)], "".join(rng.choice("abcd"[: rng.randint(2, 4)]) for _ in range(n)))


def large(rng):
    n = 100_000
    kind = rng.choice(["ab", "abcdefghijklmnopqrstuvwxyz", "nest"])
    if kind == "nest":
        half = "".join(rng.choice("abc") for _ in range(n // 2))
        text = half + half[::-1]
    else:
        text = "".join(rng.choice(kind) for _ in range(n))
    return lines([n, rng.randint(1, 12)], text)


def substrings(text):
    return [text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1)]


def reduced(text):
    for k in range(len(text) - 1):
        if text[k] == text[k + 1]:
            return reduced(text[:k] + text[k + 2 :])
    return text


def longest(test):
    return lambda m, text: max((len(s) for s in substrings(text) if test(s, m)), default=0)


FAMILY = Family(
    name="letters",
    story="Over the gate of $place stands a word of n small letters.",
    input="The first line holds n (1 <= n <= 100000) and m (1 <= m <= 26), the second one the word.",
    parse=parse,
    small=small,
    large=large,
    edges=("1 1\na\n", "2 1\naa\n", "4 2\nabba\n", "6 2\nabcabc\n", "5 1\naabbb\n"),
    head=WORDS,
    read="    let n = it.next().unwrap()«.parse::<usize>().unwrap()¦no_cast:»;\n"
    "    let m = it.next().unwrap().parse::<i64>().unwrap();\n"
    "    let word: Vec<usize> = it.next().unwrap().bytes().take(n).map(|b| (b - b'a') as usize).collect();\n"
    "    let _ = m;\n",
    variants=(
        Variant(
            key="reduce",
            title="Falling letters",
            task="Whenever two equal letters stand side by side, both fall down, and the rest closes "
            "up; this goes on until it is no longer possible. How many letters are left? The number "
            "m does not matter here.",
            output="Print the number of letters that are left.",
            brute=lambda m, text: len(reduced(text)),
            rust="""\
    let mut left: Vec<usize> = Vec::new();
    for &c in &word {
        if left.last() == Some(&c) {
            left.pop();
        } else {
            left.push(c);
        }
    }
    println!("{}", left.len());
""",
            slow="""\
    let mut left = word.clone();
    loop {
        let at = (1..left.len()).find(|&i| left[i] == left[i - 1]);
        match at {
            Some(i) => { left.remove(i); left.remove(i - 1); }
            None => break,
        }
    }
    println!("{}", left.len());
""",
        ),
        Variant(
            key="at_most",
            title="Not too many letters",
            task="What is the length of the longest piece of the word (letters that stand next to each "
            "other) in which no letter occurs more than m times?",
            output="Print the length of the longest such piece.",
            brute=longest(lambda s, m: all(s.count(c) <= m for c in s)),
            rust="""\
    let mut count = [0i64; 26];
    let (mut left, mut best) = (0, 0);
    for right in 0..n {
        count[word[right]] += 1;
        while count[word[right]] «> m¦strict:>= m && left < right» {
            count[word[left]] -= 1;
            left += 1;
        }
        best = best.max(right - left« + 1¦off_by_one:»);
    }
    println!("{}", best);
""",
            slow="""\
    let mut best = 0;
    for left in 0..n {
        for right in left..n {
            let mut count = [0i64; 26];
            for i in left..right + 1 { count[word[i]] += 1; }
            if count.iter().all(|&c| c <= m) { best = best.max(right - left + 1); } else { break; }
        }
    }
    println!("{}", best);
""",
        ),
        Variant(
            key="kinds",
            title="Few kinds",
            task="How many pieces of the word (letters that stand next to each other) hold at most m "
            "different letters? Pieces at different places are different.",
            output="Print the number of pieces.",
            brute=lambda m, text: sum(len(set(s)) <= m for s in substrings(text)),
            rust="""\
    let mut count = [0i64; 26];
    let (mut left, mut kinds) = (0, 0i64);
    let mut total = 0«i64¦small_total:i32»;
    for right in 0..n {
        if count[word[right]] == 0 { kinds += 1; }
        count[word[right]] += 1;
        while kinds > m {
            count[word[left]] -= 1;
            if count[word[left]] == 0 { kinds -= 1; }
            left += 1;
        }
        total += (right - left« + 1¦off_by_one:») as «i64¦small_total:i32»;
    }
    println!("{}", total);
""",
            slow="""\
    let mut total = 0i64;
    for left in 0..n {
        let mut seen = [false; 26];
        let mut kinds = 0;
        for right in left..n {
            if !seen[word[right]] { seen[word[right]] = true; kinds += 1; }
            if kinds <= m { total += 1; }
        }
    }
    println!("{}", total);
""",
        ),
        Variant(
            key="balanced",
            title="As many as",
            task="How many pieces of the word (letters that stand next to each other) hold the letter a "
            "exactly as often as the letter b? Pieces at different places are different. The number m "
            "does not matter here.",
            output="Print the number of pieces.",
            brute=lambda m, text: sum(s.count("a") == s.count("b") for s in substrings(text)),
            uses="use std::collections::HashMap;",
            rust="""\
    let mut seen: HashMap<i64, i64> = HashMap::new();
    «seen.insert(0, 1);¦no_start:»
    let (mut level, mut total) = (0i64, 0i64);
    for &c in &word {
        if c == 0 { level += 1; }
        if c == 1 { level -= 1; }
        let known = seen.entry(level).or_insert(0);
        total += *known;
        *known += 1;
    }
    println!("{}", total);
""",
            slow="""\
    let mut total = 0i64;
    for left in 0..n {
        let mut level = 0i64;
        for right in left..n {
            if word[right] == 0 { level += 1; }
            if word[right] == 1 { level -= 1; }
            if level == 0 { total += 1; }
        }
    }
    println!("{}", total);
""",
        ),
        Variant(
            key="far_twins",
            title="Twins far apart",
            task="Two equal letters are twins if their places differ by at least m. What is the largest "
            "number of letters that stand strictly between two twins?",
            output="Print that number, or -1 if there are no twins.",
            brute=lambda m, text: max(
                (
                    j - i - 1
                    for i in range(len(text))
                    for j in range(i + 1, len(text))
                    if text[i] == text[j] and j - i >= m
                ),
                default=-1,
            ),
            rust="""\
    let mut first = [«n¦zero:0»; 26];
    let mut best = -1i64;
    for i in 0..n {
        let c = word[i];
        if first[c] == n { first[c] = i; }
        let d = (i - first[c]) as i64;
        if d > 0 && d «>=¦strict:>» m { best = best.max(d« - 1¦off_by_one:»); }
    }
    println!("{}", best);
""",
        ),
    ),
)
