//! The log on standard error: text for people, JSON lines for machines.
//!
//! Answers of commands, such as the setup link, are not logged: they are for the person who typed the
//! command, and logs are shipped to others.
//!
//! The log never blocks the process: lines are put into a [queue], and one thread writes them. Lines that
//! find the queue full (the reader is stalled), or that cannot be written (the disk is full, the reader has
//! died), are dropped and counted, and reported as one event `log_lines_dropped` when there is room again.

mod json_lines;
mod queue;

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::panic::{self, PanicHookInfo};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use tracing::Subscriber;
use tracing::{Metadata, error, warn};
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Filter, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, registry};

use self::json_lines::{JsonLine, JsonMembers};
use self::queue::LineQueue;
use crate::traces::{TRACES, Traces};

/// How long the last lines may take to be written when the process ends.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// The target of the event that reports dropped lines, which does not wait in the queue.
const DROPPED_LINES: &str = "keyward::dropped_lines";

/// The lines of this process.
static LINES: OnceLock<Arc<LineQueue>> = OnceLock::new();

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
    /// The default log filter of a server.
    pub(crate) fn of_server() -> Self {
        Self("info".to_owned())
    }

    /// The default log filter of a command, which reports by its output.
    pub(crate) fn of_command() -> Self {
        Self("warn".to_owned())
    }

    /// The report of dropped lines passes every filter.
    ///
    /// Only directives about spans need [`EnvFilter`], which takes a lock of the process each time that any
    /// span is entered or left.
    fn of_events<S>(&self) -> Box<dyn Layer<S> + Send + Sync>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        match self.parsed() {
            Wanted::Targets(wanted) => Box::new(wanted),
            Wanted::Spans(wanted) => wanted,
        }
    }

    /// The same for the log alone, beside traces.
    fn of_layer<S>(&self) -> Box<dyn Filter<S> + Send + Sync>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        match self.parsed() {
            Wanted::Targets(wanted) => Box::new(wanted),
            Wanted::Spans(wanted) => wanted,
        }
    }

    fn parsed(&self) -> Wanted {
        let names_spans = self.0.contains('[');
        if let Some(wanted) = self.0.parse::<Targets>().ok().filter(|_| !names_spans) {
            let wanted = wanted.with_target(DROPPED_LINES, LevelFilter::WARN);
            return Wanted::Targets(wanted.with_target(TRACES, LevelFilter::OFF));
        }
        let wanted = EnvFilter::builder().parse_lossy(&self.0);
        let further = [format!("{DROPPED_LINES}=warn"), format!("{TRACES}=off")];
        let further = further.iter().filter_map(|directive| directive.parse().ok());
        Wanted::Spans(Box::new(further.fold(wanted, EnvFilter::add_directive)))
    }
}

/// A filter as tracing-subscriber evaluates it.
enum Wanted {
    Targets(Targets),
    Spans(Box<EnvFilter>),
}

/// Why a text is no filter.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidLogFilter {
    /// tracing would read it as a target, and log nothing else; or every event of a target.
    #[error("invalid log level `{0}`: expected error, warn, info, debug, trace or off, or TARGET=LEVEL")]
    NoLevel(String),
    #[error(transparent)]
    Directive(#[from] ParseError),
}

impl FromStr for LogFilter {
    type Err = InvalidLogFilter;

    fn from_str(directives: &str) -> Result<Self, InvalidLogFilter> {
        let parts = || {
            directives
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
        };
        let lacks_level = |part: &&str| match part.split_once('=') {
            Some((_, level)) => level.is_empty(),
            None => part.parse::<LevelFilter>().is_err(),
        };
        if let Some(part) = parts().find(lacks_level) {
            return Err(InvalidLogFilter::NoLevel(part.to_owned()));
        }
        // The two parsers of tracing-subscriber disagree about empty parts.
        let directives = parts().collect::<Vec<_>>().join(",");
        if directives.is_empty() {
            return Err(InvalidLogFilter::NoLevel(directives));
        }
        EnvFilter::builder().parse(&directives)?;
        Ok(Self(directives))
    }
}

/// Begins to log. Called once, before anything that could be logged.
///
/// # Errors
/// The system has no thread or no descriptor left.
pub(crate) fn start(format: LogFormat, filter: &LogFilter, traces: Option<&Traces>) -> io::Result<()> {
    let on_terminal = io::stderr().is_terminal();
    let as_text = match format {
        LogFormat::Auto => on_terminal,
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    let lines = Arc::clone(LINES.get_or_init(|| Arc::new(LineQueue::new())));
    let layer = fmt::layer::<Registry>()
        // It reports them by `eprintln!`, which panics where standard error fails.
        .log_internal_errors(false)
        .with_writer(ToQueue(Arc::clone(&lines)));
    if as_text {
        begin(layer.with_ansi(on_terminal && !no_color()), filter, traces);
    } else {
        let layer = layer.fmt_fields(JsonMembers).event_format(JsonLine);
        begin(layer, filter, traces);
    }
    panic::set_hook(Box::new(log_panic));
    // Not `io::stderr`: it would hold its lock while the reader is stalled, and block other writers to it.
    let out = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || lines.write_lines(out, report_dropped_lines, || false))?;
    Ok(())
}

/// With traces, each layer has a filter of its own, which costs more at each event.
fn begin(lines: impl Layer<Registry> + Send + Sync, filter: &LogFilter, traces: Option<&Traces>) {
    match traces {
        None => registry().with(lines).with(filter.of_events()).init(),
        Some(traces) => {
            let lines = lines.with_filter(filter.of_layer());
            registry().with(lines).with(traces.layer()).init();
        }
    }
}

/// Waits for the last lines to be written, up to a limit, because the reader may be stalled.
pub(crate) fn flush() {
    if let Some(lines) = LINES.get() {
        lines.flush(FLUSH_LIMIT);
    }
}

/// Flushes the log when it is dropped: at the end of the process, also if that is a panic.
pub(crate) struct LastLines;

impl Drop for LastLines {
    fn drop(&mut self) {
        flush();
    }
}

fn report_dropped_lines(count: u64) {
    warn!(target: DROPPED_LINES, count, "log_lines_dropped");
}

/// Passes each event's line to the queue. It never fails.
struct ToQueue(Arc<LineQueue>);

/// Writes the line of one event, or one line of a report.
enum LineWriter<'a> {
    Line(&'a LineQueue),
    Report(&'a LineQueue),
}

impl<'a> MakeWriter<'a> for ToQueue {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> LineWriter<'a> {
        LineWriter::Line(&self.0)
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> LineWriter<'a> {
        if event.target() == DROPPED_LINES {
            LineWriter::Report(&self.0)
        } else {
            self.make_writer()
        }
    }
}

impl Write for LineWriter<'_> {
    /// tracing-subscriber writes an event at once.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self {
            Self::Line(queue) => queue.push(line),
            Self::Report(queue) => queue.set_report(line),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// <https://no-color.org>
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// A panic is a defect; it becomes one event like any other, so that no line of the log is anything but an
/// event. A panic in here would abort the process: nothing in here writes, and the queue never fails.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string);
    error!(location, reason = panic.payload_as_str(), "panicked");
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Mutex;

    use tracing::subscriber::DefaultGuard;

    use super::*;

    #[test]
    fn log_filter_is_a_level_or_targets_with_levels() {
        for directives in [
            "info",
            "off",
            "warn,keyward=debug",
            "keyward_persistence=trace,info",
        ] {
            assert!(directives.parse::<LogFilter>().is_ok(), "{directives}");
        }
    }

    /// A writer whose text can be read.
    #[derive(Clone, Default)]
    pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        /// The log of this thread until the guard is dropped.
        pub(crate) fn of_this_thread() -> (Self, DefaultGuard) {
            let lines = Self::default();
            let writer = lines.clone();
            let subscriber = fmt()
                .with_ansi(false)
                .without_time()
                .with_writer(move || writer.clone())
                .finish();
            (lines, tracing::subscriber::set_default(subscriber))
        }

        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }

        /// The lines since the last call.
        pub(crate) fn take(&self) -> Vec<String> {
            let text = std::mem::take(&mut *self.0.lock().unwrap());
            let lines = String::from_utf8(text).unwrap();
            lines.lines().map(|line| line.trim().to_owned()).collect()
        }
    }

    impl Write for Lines {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(line)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn dropped_lines_are_reported_with_any_filter() {
        for directives in [
            "info",
            "error",
            "keyward_http_api=debug",
            "off",
            "off,[request]=warn",
            " info ,,",
            "error,keyward_http_api=off,",
        ] {
            let lines = Lines::default();
            let writer = lines.clone();
            let layer = fmt::layer::<Registry>().with_writer(move || writer.clone());
            let filter = directives.parse::<LogFilter>().unwrap();
            let subscriber = registry().with(layer).with(filter.of_events());
            tracing::subscriber::with_default(subscriber, || {
                report_dropped_lines(3);
                warn!("another line of this crate");
            });
            let text = lines.text();
            assert_eq!(
                text.matches("log_lines_dropped").count(),
                1,
                "{directives}: {text}"
            );
            assert_eq!(
                text.contains("another line"),
                directives.contains("info"),
                "{directives}: {text}"
            );
        }
    }

    #[test]
    fn invalid_log_filter_is_rejected() {
        for directives in [
            "keyward=loud",
            "a=b=c",
            "verbose",
            "info,inof",
            "keyward=",
            "warn,keyward=",
            ",",
            "",
        ] {
            assert!(directives.parse::<LogFilter>().is_err(), "{directives}");
        }
    }
}
