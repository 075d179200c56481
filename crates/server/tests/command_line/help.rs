//! The help of every command.

use crate::keyward::Keyward;
use crate::needing_a_database::NEEDING_A_DATABASE;

/// A command, by the words that lead to it, with its help.
struct Explained {
    command: Vec<String>,
    help: String,
}

/// Every command, found by asking the help of each for those below it.
fn all_commands() -> Vec<Explained> {
    let mut found = Vec::new();
    let mut to_ask = vec![Vec::new()];
    while let Some(command) = to_ask.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let answer = Keyward::new(&[&["help"], &words[..]].concat()).run();
        assert_eq!(answer.errors, "");
        let help = answer.success();
        let below = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
        for line in below.lines().take_while(|line| !line.is_empty()) {
            let name = line.split_whitespace().next().unwrap();
            if name != "help" {
                to_ask.push([&command[..], &[name.to_owned()]].concat());
            }
        }
        found.push(Explained { command, help });
    }
    assert!(found.len() > 10, "the help names its commands in another way");
    found
}

#[test]
fn help_describes_every_command_and_option() {
    for Explained { command, help } in all_commands() {
        let usage = ["Usage: keyward", &command.join(" ")].join(" ");
        assert!(help.contains(usage.trim_end()), "{help}");
        assert!(
            help.starts_with(|first: char| first.is_ascii_uppercase()),
            "{help}"
        );
        let mut lines = help
            .lines()
            .skip_while(|line| !line.ends_with("ptions:"))
            .peekable();
        while let Some(line) = lines.next() {
            // An option, with its description in the same line or below.
            let option = line.trim_start().strip_prefix('-');
            // A line with a lone hyphen is a possible value.
            if let Some(option) = option.filter(|option| !option.starts_with(' ')) {
                let explained =
                    option.contains("  ") || lines.peek().is_some_and(|next| !next.trim().is_empty());
                assert!(explained, "{command:?}: nothing about -{option}");
            }
        }
        for line in help.lines() {
            assert!(line.chars().count() <= 120, "{command:?}: too wide: {line}");
        }
    }
}

#[test]
fn help_is_identical_by_flag_and_command() {
    for Explained { command, help } in all_commands() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let asked = Keyward::new(&[&words[..], &["--help"]].concat()).run();
        assert_eq!(asked.success(), help, "{command:?}");
    }
}

#[test]
fn help_never_contains_variable_values() {
    for Explained { command, .. } in all_commands() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let mut run = Keyward::new(&[&words[..], &["--help"]].concat());
        for variable in [
            "KEYWARD_DATABASE_URL",
            "KEYWARD_DATABASE_URL_FILE",
            "KEYWARD_PUBLIC_URL",
            "KEYWARD_LOG",
        ] {
            run = run.variable(variable, "s3cret");
        }
        let answer = run.run();
        assert!(!answer.output.contains("s3cret"), "{}", answer.output);
        assert!(!answer.errors.contains("s3cret"), "{}", answer.errors);
    }
}

/// So that every test about the database reaches every command that opens one.
#[test]
fn tested_commands_are_exactly_those_using_a_database() {
    let mut taking: Vec<String> = all_commands()
        .into_iter()
        .filter(|explained| explained.help.contains("--database-url"))
        .map(|explained| explained.command.join(" "))
        .collect();
    let mut tried: Vec<String> = NEEDING_A_DATABASE
        .iter()
        .map(|command| {
            let words = command.iter().take_while(|word| !word.starts_with('-'));
            words.copied().collect::<Vec<_>>().join(" ")
        })
        .collect();
    taking.sort();
    tried.sort();
    assert_eq!(taking, tried);
}
