//! Runs asynchronous work on a thread and runtime of its own, so that a database can be made and dropped from
//! any test: synchronous, under a current-thread runtime, or while a runtime shuts down.

use std::any::Any;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::Error;

/// Runs `work` and waits without blocking the caller's runtime. The runtime has several threads, because
/// migrations may need to block in place.
pub(crate) async fn run<T, W>(work: W) -> Result<T, Error>
where
    T: Send + 'static,
    W: AsyncFnOnce() -> Result<T, Error> + Send + 'static,
{
    let (done, finished) = oneshot::channel();
    let thread = thread::spawn(move || {
        // The receiver is dropped only when the caller gave up waiting.
        let _ = done.send(block_on(work));
    });
    match finished.await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::Panicked(
            thread
                .join()
                .map_or_else(panic_message, |()| "no message".to_owned()),
        )),
    }
}

/// Runs `work` and blocks until it is done.
pub(crate) fn run_blocking<T, W>(work: W) -> Result<T, Error>
where
    T: Send + 'static,
    W: AsyncFnOnce() -> Result<T, Error> + Send + 'static,
{
    thread::spawn(move || block_on(work))
        .join()
        .unwrap_or_else(|panic| Err(Error::Panicked(panic_message(panic))))
}

fn block_on<T, W: AsyncFnOnce() -> Result<T, Error>>(work: W) -> Result<T, Error> {
    match Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(work()),
        Err(error) => Err(Error::Panicked(format!("no runtime could be built: {error}"))),
    }
}

fn panic_message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic
            .downcast::<&str>()
            .map_or_else(|_| "no message".to_owned(), |message| (*message).to_owned()),
    }
}
