//! Output of commands.
//!
//! Results go to standard output, for scripts; messages to people go to standard error.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, major, minor};

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

/// A stream was closed, or discarded as if it was, when this process started.
#[derive(Debug, thiserror::Error)]
#[error("{stream} is closed or discarded, so nothing was done: redirect it to a file or a pipe")]
pub(crate) struct StreamClosed {
    stream: &'static str,
}

/// Refuses a closed standard output, on which an answer would be lost without an error.
pub(crate) fn refuse_closed_output() -> Result<(), StreamClosed> {
    refuse_closed(io::stdout(), "standard output")
}

/// Refuses a closed standard error, for what only it shows.
pub(crate) fn refuse_closed_errors() -> Result<(), StreamClosed> {
    refuse_closed(io::stderr(), "standard error")
}

/// In place of a closed stream, Rust opens `/dev/null` before `main`, for reading and writing. So do others
/// that discard an answer, such as Python's `subprocess.DEVNULL`; the two cannot be distinguished. A shell
/// opens it for writing only, by `>/dev/null`, which is allowed.
fn refuse_closed(descriptor: impl AsFd, stream: &'static str) -> Result<(), StreamClosed> {
    const NULL_DEVICE: (u32, u32) = (1, 3);
    let descriptor = descriptor.as_fd();
    let is_null_device = fstat(descriptor).is_ok_and(|file| {
        FileType::from_raw_mode(file.st_mode) == FileType::CharacterDevice
            && (major(file.st_rdev), minor(file.st_rdev)) == NULL_DEVICE
    });
    let flags = fcntl_getfl(descriptor);
    let is_closed =
        flags.is_err() || (is_null_device && flags.is_ok_and(|flags| flags.contains(OFlags::RDWR)));
    if is_closed {
        return Err(StreamClosed { stream });
    }
    Ok(())
}

/// Writes an answer unchanged, and returns once it is written.
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

/// Prints a sentence that cannot be shown again to standard error, after the lines that were logged before.
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
    // If the terminal was closed, no one can read it, and the command has not failed.
    let _ = if io::stdout().is_terminal() {
        writeln!(io::stdout().lock(), "{text}")
    } else if io::stderr().is_terminal() {
        writeln!(io::stderr().lock(), "{text}")
    } else {
        Ok(())
    };
}
