//! The patterns that `docs/secret-scanning.md` gives to scanners.

use keyward_domain::testing::Builder;
use keyward_domain::token::Token;
use regex::Regex;

const PAGE: &str = include_str!("../../../../docs/secret-scanning.md");

/// The text between these two in a program's code block.
fn pattern(language: &str, before: &str, after: &str) -> Regex {
    let block = PAGE
        .split(&format!("```{language}\n"))
        .nth(1)
        .expect("a code block");
    let block = block.split("```").next().expect("its end");
    let (_, rest) = block.split_once(before).expect("a pattern");
    let (pattern, _) = rest.split_once(after).expect("its end");
    // It has the syntax of RE2, which is that of Go.
    Regex::new(pattern).expect("a regular expression")
}

fn patterns() -> [Regex; 3] {
    [
        pattern("toml", "regex = '''", "'''"),
        pattern("yaml", "key: '", "'"),
        pattern("text", "", "\n"),
    ]
}

#[test]
fn each_pattern_finds_exactly_the_token_wherever_it_stands() {
    let make = Builder::new(1);
    for pattern in patterns() {
        for _ in 0..1_000 {
            let token = Token::generate(&*make.random);
            let token = token.expose();
            for text in [
                token.to_owned(),
                format!("KEYWARD_API_KEY={token}\n"),
                format!("const key = \"{token}\";"),
                format!("{{\"key\":\"{token}\",\"fullKey\":\"{token}\"}}"),
                format!("Authorization: Bearer {token}\r\n"),
                format!("https://example.com/?key={token}&x=1"),
                format!("my_{token}_backup"),
            ] {
                let found: Vec<&str> = pattern.find_iter(&text).map(|found| found.as_str()).collect();
                assert!(
                    !found.is_empty() && found.iter().all(|found| *found == token),
                    "{pattern}: {text}"
                );
            }
        }
    }
}

#[test]
fn no_pattern_finds_hints_and_shorter_texts() {
    let make = Builder::new(1);
    let token = Token::generate(&*make.random);
    let (hint, cut) = (token.hint().to_string(), &token.expose()[..41]);
    for pattern in patterns() {
        for text in [&hint, cut, "kwp_", "KWP_000000000000000000000000000000002wjyrI"] {
            assert!(!pattern.is_match(text), "{pattern}: {text}");
        }
    }
}
