//! Other processes: the test executable, started again to run the same test in the part of a child.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// In a child, the data directory that it works on.
const DIRECTORY: &str = "KEYWARD_TEST_DATA_DIRECTORY";
/// In a child, which of several it is.
const NUMBER: &str = "KEYWARD_TEST_CHILD";
/// The prefix of a child's messages. They are on standard error, because the test runner writes to standard
/// output.
const SAYS: &str = "child: ";

/// The task of this process, if it is a child.
pub(crate) struct Part {
    pub(crate) directory: PathBuf,
    pub(crate) number: u64,
}

/// The part of a child; nothing in the process that was started as the test.
pub(crate) fn part() -> Option<Part> {
    let directory = std::env::var_os(DIRECTORY)?;
    let number = std::env::var(NUMBER).expect("a number").parse();
    Some(Part {
        directory: directory.into(),
        number: number.expect("a number"),
    })
}

/// Sends a message to the parent.
pub(crate) fn say(words: impl std::fmt::Display) {
    let line = format!("{SAYS}{words}\n");
    // In one piece: other threads talk, too.
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("the parent listens");
}

/// Waits for a signal of the parent, so that several children begin at the same time.
pub(crate) fn wait_for_the_others() {
    say("ready");
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .expect("a word from the parent");
}

/// A child at work, killed at the end if it has not ended.
pub(crate) struct Running {
    child: Child,
    words: BufReader<ChildStderr>,
    /// Its other output, such as the reason of a panic.
    other_words: String,
}

impl Running {
    /// Starts the test of this name as a child.
    pub(crate) fn start(test: &str, directory: &Path, number: u64) -> Self {
        let executable = std::env::current_exe().expect("this executable");
        Self::start_as(&executable, None, test, directory, number)
    }

    /// The same, from a copy of the executable and as another user.
    pub(crate) fn start_as(
        executable: &Path,
        user: Option<u32>,
        test: &str,
        directory: &Path,
        number: u64,
    ) -> Self {
        let mut command = Command::new(executable);
        command
            .args(["--exact", test, "--nocapture"])
            .env(DIRECTORY, directory)
            .env(NUMBER, number.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut child = command.spawn().expect("a child");
        let words = child.stderr.take().expect("its words");
        Self {
            child,
            words: BufReader::new(words),
            other_words: String::new(),
        }
    }

    /// The child's next message; `None` when it has ended.
    pub(crate) fn next_words(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.words.read_line(&mut line).expect("words") == 0 {
                return None;
            }
            match line.trim_end().strip_prefix(SAYS) {
                Some(words) => return Some(words.to_owned()),
                None => self.other_words.push_str(&line),
            }
        }
    }

    /// See [`wait_for_the_others`].
    pub(crate) fn let_go(&mut self) {
        let stdin = self.child.stdin.as_mut().expect("its standard input");
        stdin.write_all(b"go\n").expect("it listens");
    }

    /// Kills the child (SIGKILL), and returns its messages until then.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("the child is killed");
        let said = std::iter::from_fn(|| self.next_words()).collect();
        self.child.wait().expect("its end");
        said
    }

    /// Waits for the end of a child that succeeded, and returns its messages.
    pub(crate) fn end(mut self) -> Vec<String> {
        let said = std::iter::from_fn(|| self.next_words()).collect();
        let status = self.child.wait().expect("its end");
        assert!(status.success(), "{status}: {}", self.other_words);
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts several children, waits until all are ready, lets them go and returns what each said.
pub(crate) fn all_at_once(test: &str, directory: &Path, children: u64) -> Vec<Vec<String>> {
    let mut running: Vec<Running> = (1..=children)
        .map(|number| Running::start(test, directory, number))
        .collect();
    for child in &mut running {
        assert_eq!(
            child.next_words().as_deref(),
            Some("ready"),
            "{}",
            child.other_words
        );
    }
    for child in &mut running {
        child.let_go();
    }
    running.into_iter().map(Running::end).collect()
}
