//! Log lines on their way out: a bounded queue that never blocks and never fails, and the loop that writes
//! them.
//!
//! tracing-appender's non-blocking writer was considered. It counts the lines that found its queue full, but
//! not those that a full disk refused; it bounds lines, not bytes; and its guard prints to standard output
//! while the writer is stalled, which panics if that is closed.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The bytes of the lines that may wait: some 14,000 requests.
pub(super) const CAPACITY: usize = 4 * 1024 * 1024;

/// How long until a writer that failed is tried again although there is nothing new to write.
const RETRY: Duration = Duration::from_secs(1);

/// How long lines are collected before they are written at once: a busy server then wakes the writing thread
/// a hundred times a second at most, and not for each line. Each time takes a processor from a thread that
/// serves requests.
const COLLECT: Duration = Duration::from_millis(10);

/// The most bytes that are written at once, but for a line that is longer.
const BATCH: usize = 64 * 1024;

/// How long until a non-blocking descriptor that was full is tried again.
const FULL_PAUSE: Duration = Duration::from_millis(10);

/// Lines that wait to be written, and the number of those that were not.
pub(super) struct LineQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The lines, as they are going to be written.
    batches: VecDeque<Batch>,
    /// The sum of the lengths of all lines.
    bytes: usize,
    /// The memory of a batch that was written, for one to come: each line would otherwise be allocated by a
    /// thread that serves requests and freed by the one that writes, and both would wait for the allocator.
    spare: Batch,
    /// Lines that were never written, since the last report of them.
    dropped: u64,
    /// The report of dropped lines that is about to be written.
    report: Vec<u8>,
    /// The loop holds lines that are in neither `lines` nor `dropped` yet.
    is_writing: bool,
    /// The loop waits for a line, and has to be woken.
    is_idle: bool,
    /// A caller waits for the last lines, so that they are written at once.
    is_flushing: bool,
    /// The latest attempt to write failed.
    is_failing: bool,
}

/// The next step of the loop.
enum Task {
    Write(Batch),
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
        let mut state = self.state.lock();
        if line.len() > CAPACITY - state.bytes {
            state.dropped = state.dropped.saturating_add(1);
            return;
        }
        state.add(line);
        let wakes_loop = std::mem::take(&mut state.is_idle);
        drop(state);
        if wakes_loop {
            self.changed.notify_all();
        }
    }

    /// Keeps the line that reports dropped ones for [`write_lines`](Self::write_lines).
    pub(super) fn set_report(&self, report: &[u8]) {
        self.state.lock().report = report.to_vec();
    }

    /// Waits until everything that can be written is, but no longer than `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let is_unfinished =
            |state: &mut State| state.is_writing || !state.batches.is_empty() || state.may_report();
        let mut state = self.state.lock();
        state.is_flushing = true;
        self.changed.notify_all();
        // A writer that is not finished by then is stuck, or too slow to wait for.
        self.changed.wait_while_for(&mut state, is_unfinished, limit);
        state.is_flushing = false;
    }

    /// Writes lines as they come, until `is_over`. Dropped lines are reported as soon as there is room:
    /// `report` gets their number, and passes a line to [`set_report`](Self::set_report).
    pub(super) fn write_lines(&self, out: impl Write, report: impl Fn(u64), is_over: impl Fn() -> bool) {
        let mut output = Output {
            out,
            is_within_line: false,
        };
        while !is_over() {
            match self.next_task() {
                Task::Write(batch) => {
                    let (written, lost) = output.write_batch(&batch);
                    let spare = batch.emptied();
                    let mut state = self.state.lock();
                    state.dropped = state.dropped.saturating_add(lost);
                    state.spare = spare;
                    state.finish_task(&written);
                }
                Task::Report(dropped) => {
                    report(dropped);
                    let line = std::mem::take(&mut self.state.lock().report);
                    let (_, written) = output.write(&line);
                    let mut state = self.state.lock();
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
        let mut state = self.state.lock();
        let mut retry_at = None;
        loop {
            let is_time = retry_at.is_some_and(|at| at <= Instant::now());
            if state.may_report() || state.dropped > 0 && is_time {
                state.is_writing = true;
                return Task::Report(state.dropped);
            }
            if !state.batches.is_empty() {
                if state.bytes < BATCH && !state.is_flushing {
                    // Only `flush` ends this wait early.
                    self.changed.wait_for(&mut state, COLLECT);
                }
                if let Some(batch) = state.take_batch() {
                    state.is_writing = true;
                    return Task::Write(batch);
                }
            }
            retry_at.get_or_insert_with(|| Instant::now() + RETRY);
            state.is_idle = true;
            if state.dropped > 0 {
                self.changed.wait_for(&mut state, RETRY);
            } else {
                self.changed.wait(&mut state);
            }
            state.is_idle = false;
        }
    }
}

impl State {
    fn add(&mut self, line: &[u8]) {
        self.bytes += line.len();
        match self.batches.back_mut() {
            Some(batch) if batch.has_room_for(line) => batch.add(line),
            _ => {
                let mut batch = std::mem::take(&mut self.spare);
                batch.bytes.reserve(BATCH);
                batch.add(line);
                self.batches.push_back(batch);
            }
        }
    }

    /// The first lines, as many as are written at once.
    fn take_batch(&mut self) -> Option<Batch> {
        let batch = self.batches.pop_front()?;
        self.bytes -= batch.bytes.len();
        Some(batch)
    }

    /// Whether dropped lines can be reported: half of the room is free again, and writing works.
    fn may_report(&self) -> bool {
        self.dropped > 0 && !self.is_failing && self.bytes <= CAPACITY / 2
    }

    fn finish_task(&mut self, written: &io::Result<()>) {
        self.is_failing = written.is_err();
        self.is_writing = false;
    }
}

/// Lines that are written at once.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each line ends.
    ends: Vec<usize>,
}

impl Batch {
    fn has_room_for(&self, line: &[u8]) -> bool {
        self.bytes.is_empty() || self.bytes.len() + line.len() <= BATCH
    }

    fn add(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
    }

    /// Its memory, but for what a single long line took.
    fn emptied(mut self) -> Self {
        self.bytes.clear();
        self.bytes.shrink_to(BATCH);
        self.ends.clear();
        self
    }
}

/// Where the lines go.
struct Output<W> {
    out: W,
    /// The last line was cut by an error: the next one must not be glued to it.
    is_within_line: bool,
}

impl<W: Write> Output<W> {
    /// Writes the lines, passing over those that cannot be written. Returns their number, and how it ended.
    fn write_batch(&mut self, batch: &Batch) -> (io::Result<()>, u64) {
        let (mut written, mut lost) = (0, 0);
        let mut outcome = Ok(());
        loop {
            let rest = batch.bytes.get(written..).unwrap_or_default();
            if rest.is_empty() {
                return (outcome, lost);
            }
            let (count, ended) = self.write(rest);
            outcome = ended;
            written += count;
            if outcome.is_err() {
                lost += 1;
                let cut = batch.ends.iter().find(|end| **end > written);
                written = cut.copied().unwrap_or(batch.bytes.len());
            }
        }
    }

    /// Writes as much as it can.
    fn write(&mut self, bytes: &[u8]) -> (usize, io::Result<()>) {
        if self.is_within_line
            && let (_, Err(error)) = self.write_part(b"\n")
        {
            return (0, Err(error));
        }
        self.write_part(bytes)
    }

    fn write_part(&mut self, bytes: &[u8]) -> (usize, io::Result<()>) {
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            match self.out.write(rest) {
                Ok(0) => return (written, Err(ErrorKind::WriteZero.into())),
                Ok(count) => {
                    written += count;
                    let last = rest.get(..count).and_then(<[u8]>::last);
                    self.is_within_line = last != Some(&b'\n');
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Another process that shares the descriptor made it non-blocking. Only this thread waits.
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(FULL_PAUSE),
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }
}

#[cfg(test)]
mod tests;
