//! Output of commands.
//!
//! Results go to standard output, for scripts; messages to people go to standard error.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use crate::logging;

/// Standard output broke, for instance because its reader went away.
#[derive(Debug, thiserror::Error)]
#[error("the answer cannot be written to standard output")]
pub(crate) struct OutputError(#[from] io::Error);

impl OutputError {
    /// Whether the reader has closed the pipe.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Writes an answer as it is, and does not return before it is out.
pub(crate) fn answer(text: &str) -> Result<(), OutputError> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// Prints help, the version or a complaint about the command line. Help that cannot be printed is a failure.
pub(crate) fn print_usage(usage: &clap::Error) -> ExitCode {
    let printed = usage.print().and_then(|()| io::stdout().flush());
    match (usage.exit_code(), printed) {
        (0, Ok(())) => ExitCode::SUCCESS,
        (0, Err(_)) => ExitCode::FAILURE,
        (code, _) => u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// The exit code of options that are not valid, which clap gives, too.
pub(crate) const INVALID_OPTIONS: u8 = 2;

/// Prints a message to standard error; errors are ignored.
pub(crate) fn report(sentence: &str) {
    let _ = show(sentence);
}

/// Prints to standard error what nobody can be shown again, after the lines that were logged before.
pub(crate) fn show(sentence: &str) -> io::Result<()> {
    logging::flush();
    writeln!(io::stderr().lock(), "{sentence}")
}

/// Whether there is a person to show something to.
pub(crate) fn has_terminal() -> bool {
    io::stdout().is_terminal() || io::stderr().is_terminal()
}

/// Shows a text to the person at the terminal, and nowhere else: a stream that is redirected may end up in a
/// log.
pub(crate) fn show_on_terminal(text: &str) {
    // A person who has left is nobody's failure.
    let _ = if io::stdout().is_terminal() {
        writeln!(io::stdout().lock(), "{text}")
    } else if io::stderr().is_terminal() {
        writeln!(io::stderr().lock(), "{text}")
    } else {
        Ok(())
    };
}
