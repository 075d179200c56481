//! Log lines on their way out: a bounded queue that never blocks and never fails, and the loop that writes them.
//!
//! tracing-appender's non-blocking writer was considered. It counts the lines that found its queue full, but not those
//! that a full disk refused; it bounds lines, not bytes; and its guard prints to standard output while the writer is
//! stalled, which panics where nobody reads that.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The bytes of the lines that may wait: a second of requests at full speed.
pub(super) const CAPACITY: usize = 4 * 1024 * 1024;

/// How long until a writer that failed is tried again although there is nothing new to write.
const RETRY: Duration = Duration::from_secs(1);

/// How long until a non-blocking descriptor that was full is tried again.
const FULL_PAUSE: Duration = Duration::from_millis(10);

/// Lines that wait to be written, and the number of those that were not.
pub(super) struct LineQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    /// The sum of the lengths of `lines`.
    bytes: usize,
    /// Lines that were never written, since the last report of them.
    dropped: u64,
    /// The report of dropped lines that is about to be written.
    report: Vec<u8>,
    /// The loop holds a line that is in neither `lines` nor `dropped` yet.
    is_writing: bool,
    /// The latest attempt to write failed.
    is_failing: bool,
}

/// What the loop does next.
enum Task {
    Write(Vec<u8>),
    Report(u64),
}

impl LineQueue {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Adds a line, or counts it as dropped where there is no room.
    pub(super) fn push(&self, line: &[u8]) {
        let mut state = self.lock();
        if line.len() > CAPACITY - state.bytes {
            state.dropped = state.dropped.saturating_add(1);
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line.to_vec());
        drop(state);
        self.changed.notify_all();
    }

    /// Keeps the line that reports dropped ones for [`write_lines`](Self::write_lines).
    pub(super) fn set_report(&self, report: &[u8]) {
        self.lock().report = report.to_vec();
    }

    /// Waits until everything that can be written is, but no longer than `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let is_unfinished =
            |state: &mut State| state.is_writing || !state.lines.is_empty() || state.may_report();
        let state = self.lock();
        // Whoever is not finished by then never will be, or is too slow to be waited for.
        drop(self.changed.wait_timeout_while(state, limit, is_unfinished));
    }

    /// Writes whatever comes, until `is_over`. Dropped lines are reported as soon as there is room: `report` is
    /// told their number, and passes a line to [`set_report`](Self::set_report).
    pub(super) fn write_lines(&self, out: impl Write, report: impl Fn(u64), is_over: impl Fn() -> bool) {
        let mut output = Output {
            out,
            is_within_line: false,
        };
        while !is_over() {
            match self.next_task() {
                Task::Write(line) => {
                    let written = output.write(&line);
                    let mut state = self.lock();
                    if written.is_err() {
                        state.dropped = state.dropped.saturating_add(1);
                    }
                    state.finish_task(&written);
                }
                Task::Report(dropped) => {
                    report(dropped);
                    let line = std::mem::take(&mut self.lock().report);
                    let written = output.write(&line);
                    let mut state = self.lock();
                    if written.is_ok() {
                        state.dropped = state.dropped.saturating_sub(dropped);
                    }
                    state.finish_task(&written);
                }
            }
            self.changed.notify_all();
        }
    }

    fn next_task(&self) -> Task {
        let mut state = self.lock();
        let mut retry_at = None;
        loop {
            let is_time = retry_at.is_some_and(|at| at <= Instant::now());
            if state.may_report() || state.dropped > 0 && is_time {
                state.is_writing = true;
                return Task::Report(state.dropped);
            }
            if let Some(line) = state.lines.pop_front() {
                state.bytes -= line.len();
                state.is_writing = true;
                return Task::Write(line);
            }
            retry_at.get_or_insert_with(|| Instant::now() + RETRY);
            state = if state.dropped > 0 {
                let (state, _) = self
                    .changed
                    .wait_timeout(state, RETRY)
                    .unwrap_or_else(PoisonError::into_inner);
                state
            } else {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether dropped lines can be reported: half of the room is free again, and writing works.
    fn may_report(&self) -> bool {
        self.dropped > 0 && !self.is_failing && self.bytes <= CAPACITY / 2
    }

    fn finish_task(&mut self, written: &io::Result<()>) {
        self.is_failing = written.is_err();
        self.is_writing = false;
    }
}

/// Where the lines go.
struct Output<W> {
    out: W,
    /// The last line was cut by an error: the next one must not be glued to it.
    is_within_line: bool,
}

impl<W: Write> Output<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_within_line {
            self.write_part(b"\n")?;
            self.is_within_line = false;
        }
        self.write_part(line)
    }

    fn write_part(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.out.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.is_within_line = true;
                    bytes = bytes.get(count..).unwrap_or_default();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Whoever shares the descriptor made it non-blocking. Only this thread waits.
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(FULL_PAUSE),
                Err(error) => return Err(error),
            }
        }
        self.is_within_line = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
