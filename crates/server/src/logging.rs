//! What the process says about itself, on standard error: text for people, JSON lines for machines.
//!
//! Answers of commands, and the setup link above all, never come this way: they are for whoever typed the command, and
//! logs are shipped.

use std::io::{self, IsTerminal};
use std::panic::{self, PanicHookInfo};
use std::str::FromStr;

use clap::ValueEnum;
use tracing::error;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, ParseError};
use tracing_subscriber::fmt;

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text on a terminal, JSON otherwise
    Auto,
    /// A line of text for people
    Text,
    /// A JSON object per line
    Json,
}

/// Which events are logged: `info`, or targets with levels such as `info,keyward_persistence=debug`.
#[derive(Debug, Clone)]
pub(crate) struct LogFilter(String);

impl LogFilter {
    /// What a server logs unless told otherwise.
    pub(crate) fn of_server() -> Self {
        Self("info".to_owned())
    }

    /// What a command logs unless told otherwise: its answer is what counts.
    pub(crate) fn of_command() -> Self {
        Self("warn".to_owned())
    }
}

/// Why a text is no filter.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidLogFilter {
    /// tracing would take it for a target, and log nothing else.
    #[error("`{0}` is no level: expected error, warn, info, debug, trace or off, or TARGET=LEVEL")]
    NoLevel(String),
    #[error(transparent)]
    Directive(#[from] ParseError),
}

impl FromStr for LogFilter {
    type Err = InvalidLogFilter;

    fn from_str(directives: &str) -> Result<Self, InvalidLogFilter> {
        let mut lone_words = directives.split(',').filter(|part| !part.contains('='));
        if let Some(word) = lone_words.find(|word| word.trim().parse::<LevelFilter>().is_err()) {
            return Err(InvalidLogFilter::NoLevel(word.trim().to_owned()));
        }
        EnvFilter::builder().parse(directives)?;
        Ok(Self(directives.to_owned()))
    }
}

/// Begins to log. Called once, before anything that could be logged.
pub(crate) fn start(format: LogFormat, filter: &LogFilter) {
    let on_terminal = io::stderr().is_terminal();
    let as_text = match format {
        LogFormat::Auto => on_terminal,
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    let builder = fmt()
        .with_env_filter(EnvFilter::builder().parse_lossy(&filter.0))
        .with_writer(io::stderr);
    if as_text {
        builder.with_ansi(on_terminal && !no_color()).init();
    } else {
        builder.json().flatten_event(true).with_span_list(false).init();
    }
    panic::set_hook(Box::new(log_panic));
}

/// <https://no-color.org>
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// A panic is a defect; it becomes one event like any other, so that no line of the log is anything but an event.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string);
    error!(location, reason = panic.payload_as_str(), "panicked");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_level_or_targets_with_levels() {
        for directives in [
            "info",
            "off",
            "warn,keyward=debug",
            "keyward_persistence=trace,info",
        ] {
            assert!(directives.parse::<LogFilter>().is_ok(), "{directives}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused() {
        for directives in ["keyward=loud", "a=b=c", "verbose", "info,inof"] {
            assert!(directives.parse::<LogFilter>().is_err(), "{directives}");
        }
    }
}
