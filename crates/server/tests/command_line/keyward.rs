//! One run of `keyward`.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command line in an environment that only the test determines.
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
    /// `keyward` with these arguments, and no variables of the test process.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        Self::copied_to(env!("CARGO_BIN_EXE_keyward"), arguments)
    }

    /// The same, from a copy of the executable.
    pub(crate) fn copied_to(executable: impl AsRef<OsStr>, arguments: &[&str]) -> Self {
        let mut command = Command::new(executable);
        command.arg0("keyward").args(arguments).env_clear();
        Self {
            command,
            input: Vec::new(),
        }
    }

    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn database(self, url: &str) -> Self {
        self.variable("KEYWARD_DATABASE_URL", url)
    }

    pub(crate) fn data_directory(self, directory: &Path) -> Self {
        self.variable("KEYWARD_DATA_DIR", directory.to_str().unwrap())
    }

    /// As if it was typed like this.
    pub(crate) fn typed(mut self, program: &str) -> Self {
        self.command.arg0(program);
        self
    }

    /// As `nohup` starts it.
    pub(crate) fn ignoring_hangups(self) -> Self {
        let mut command = Command::new("sh");
        let ignoring = "trap '' HUP; exec \"$@\"";
        command
            .args(["-c", ignoring, "sh"])
            .arg(self.command.get_program());
        command.args(self.command.get_args()).env_clear();
        for (name, value) in self.command.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        Self { command, ..self }
    }

    /// Runs it as another user, which only root can do.
    pub(crate) fn user(mut self, id: u32) -> Self {
        self.command.uid(id).gid(id);
        self
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
    /// Its standard output; fails unless it succeeded.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.errors);
        self.output
    }

    /// The sentence of a refusal, which exits with 1 and says nothing else, except in the log.
    #[track_caller]
    pub(crate) fn refusal(&self) -> &str {
        self.sentence(1)
    }

    /// The same for an option or a variable whose value is valid nowhere.
    pub(crate) fn refusal_of_options(&self) -> &str {
        self.sentence(2)
    }

    fn sentence(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.output, "", "a refusal prints nothing on standard output");
        let mut said = self
            .errors
            .lines()
            .filter(|line| !line.starts_with("{\"timestamp\":"));
        let sentence = said.next().and_then(|line| line.strip_prefix("error: "));
        let sentence = sentence.unwrap_or_else(|| panic!("no sentence: {self:?}"));
        assert_eq!(said.next(), None, "more than a sentence: {self:?}");
        for noise in [" { ", "Error(", "Some(", "\\\"", "s3cret"] {
            assert!(!sentence.contains(noise), "not for people: {sentence}");
        }
        sentence
    }
}
