use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::*;

/// Longer than any of this takes.
const LONG: Duration = Duration::from_secs(30);

/// The writer waits here until the test lets it continue with the outcome of the next write.
struct Gate {
    outcomes: Receiver<io::Result<usize>>,
    written: Arc<Mutex<Vec<u8>>>,
    /// Once the test has dropped its end: everything succeeds.
    attempts: SyncSender<()>,
}

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.attempts.try_send(());
        let most = self.outcomes.recv().unwrap_or(Ok(usize::MAX))?;
        let count = bytes.len().min(most);
        self.written.lock().extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Log {
    queue: Arc<LineQueue>,
    outcomes: SyncSender<io::Result<usize>>,
    attempts: Receiver<()>,
    written: Arc<Mutex<Vec<u8>>>,
    is_over: Arc<AtomicBool>,
    writer: JoinHandle<()>,
}

impl Log {
    fn start() -> Self {
        let queue = Arc::new(LineQueue::new());
        let written = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (outcomes, next_outcomes) = sync_channel(1_024);
        let (attempted, attempts) = sync_channel(1_024);
        let gate = Gate {
            outcomes: next_outcomes,
            written: Arc::clone(&written),
            attempts: attempted,
        };
        let writer = {
            let (queue, is_over) = (Arc::clone(&queue), Arc::clone(&is_over));
            thread::spawn(move || {
                let report = |count| queue.set_report(format!("dropped {count}\n").as_bytes());
                queue.write_lines(gate, report, || is_over.load(Ordering::Relaxed));
            })
        };
        Self {
            queue,
            outcomes,
            attempts,
            written,
            is_over,
            writer,
        }
    }

    /// Lets every further write succeed, and returns all that was written in the end.
    fn end(self) -> String {
        drop(self.outcomes);
        self.queue.flush(LONG);
        self.is_over.store(true, Ordering::Relaxed);
        self.queue.push(b"end\n");
        self.writer.join().unwrap();
        String::from_utf8(self.written.lock().clone()).unwrap()
    }
}

#[test]
fn log_lines_are_written_in_order() {
    let log = Log::start();
    log.queue.push(b"one\n");
    log.queue.push(b"two\n");
    assert!(log.end().starts_with("one\ntwo\n"));
}

#[test]
fn full_queue_drops_lines_and_reports_their_number_once() {
    let log = Log::start();
    log.queue.push(b"first\n");
    // The writer holds it, and is stalled.
    log.attempts.recv_timeout(LONG).unwrap();
    let line = [vec![b'x'; CAPACITY / 4 - 1], vec![b'\n']].concat();
    for _ in 0..7 {
        log.queue.push(&line);
    }
    let written = log.end();
    assert_eq!(written.matches("dropped").count(), 1);
    assert!(written.contains("dropped 3\n"), "4 of 7 have room");
}

#[test]
fn flush_gives_up_on_a_stalled_writer() {
    let log = Log::start();
    log.queue.push(b"first\n");
    log.attempts.recv_timeout(LONG).unwrap();
    log.queue.flush(Duration::from_millis(20));
    assert!(log.written.lock().is_empty());
    assert!(log.end().starts_with("first\n"));
}

#[test]
fn lines_refused_by_a_full_disk_are_counted_not_joined() {
    let log = Log::start();
    let no_space = || io::Error::from(ErrorKind::StorageFull);
    // The disk fills up in the middle of the first line.
    log.outcomes.send(Ok(3)).unwrap();
    for _ in 0..2 {
        log.outcomes.send(Err(no_space())).unwrap();
    }
    log.queue.push(b"first\n");
    log.queue.push(b"second\n");
    for _ in 0..3 {
        log.attempts.recv_timeout(LONG).unwrap();
    }
    log.queue.push(b"third\n");
    let written = log.end();
    assert!(written.starts_with("fir\n"), "{written}");
    assert!(written.contains("\nthird\n"), "{written}");
    assert!(written.contains("\ndropped 2\n"), "{written}");
}

#[test]
fn failed_drop_report_is_retried_without_new_lines() {
    let log = Log::start();
    let no_space = || io::Error::from(ErrorKind::StorageFull);
    for _ in 0..2 {
        log.outcomes.send(Err(no_space())).unwrap();
    }
    log.queue.push(b"lost\n");
    // The line, the report that fails, the report that is written.
    for _ in 0..3 {
        log.attempts.recv_timeout(LONG).unwrap();
    }
    assert!(log.end().starts_with("dropped 1\n"));
}

#[test]
fn full_non_blocking_pipe_delays_the_writer() {
    let log = Log::start();
    log.outcomes.send(Ok(1)).unwrap();
    log.outcomes.send(Err(ErrorKind::WouldBlock.into())).unwrap();
    log.queue.push(b"whole\n");
    assert!(log.end().starts_with("whole\n"));
}
