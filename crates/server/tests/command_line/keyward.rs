//! One run of `keyward`.

use std::io::Write;
use std::process::{Command, Stdio};

/// A command line with nothing but what the test gives it.
pub(crate) struct Keyward {
    command: Command,
    input: Vec<u8>,
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Keyward {
    /// `keyward` with these arguments, and none of the variables of whoever runs the tests.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyward"));
        command.args(arguments).env_clear();
        Self {
            command,
            input: Vec::new(),
        }
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn database(self, url: &str) -> Self {
        self.variable("KEYWARD_DATABASE_URL", url)
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Gives it its input, and waits until it has ended.
    pub(crate) fn run(mut self) -> Answer {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // A command that needs no input may have ended before it is written.
        let _ = input.write_all(&self.input);
        drop(input);
        let ended = child.wait_with_output().unwrap();
        Answer {
            code: ended.status.code(),
            output: String::from_utf8(ended.stdout).unwrap(),
            errors: String::from_utf8(ended.stderr).unwrap(),
        }
    }

    pub(crate) fn into_command(self) -> Command {
        self.command
    }
}

impl Answer {
    /// What it printed, if it did what it was asked.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.errors);
        self.output
    }

    /// The sentence of a refusal, which says nothing else and exits with 1.
    #[track_caller]
    pub(crate) fn refusal(&self) -> &str {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert_eq!(self.output, "", "a refusal prints nothing on standard output");
        let last_line = self.errors.lines().last().unwrap_or_default();
        last_line
            .strip_prefix("error: ")
            .unwrap_or_else(|| panic!("no sentence: {self:?}"))
    }
}
