//! Tasks of any output, spawned as one type.
//!
//! tokio's task code is compiled again for every type of spawned future or closure, and each port method has
//! its own for each database. Boxed, they share one type and one copy of that code, which would otherwise be
//! a large part of this crate.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};
use tracing::Instrument as _;

use crate::client::Client;
use crate::traces;

/// Work in its own task, which continues even if the handle is dropped.
pub(crate) struct Task<T> {
    ended: JoinHandle<()>,
    outcome: Outcome<T>,
}

/// Set when the work is done; never if it panics or is cancelled.
type Outcome<T> = Arc<Mutex<Option<T>>>;

/// Runs a future like [`tokio::spawn`], for the current client.
pub(crate) fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Task<T> {
    let outcome = Outcome::default();
    let filled = Arc::clone(&outcome);
    let mut work: BoxFuture<'static, ()> =
        Box::pin(Client::current().run(async move { fill(&filled, work.await) }));
    let span = traces::current();
    if !span.is_none() {
        work = Box::pin(work.instrument(span));
    }
    Task {
        ended: tokio::spawn(work),
        outcome,
    }
}

/// Runs a future on the caller's task, and continues it in its own task if the caller stops waiting. Callers
/// seldom stop, so this saves nearly all of these tasks.
pub(crate) fn finish<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> RunToCompletion<T> {
    RunToCompletion(Some(Box::pin(AssertUnwindSafe(work).catch_unwind())))
}

/// Work that runs to completion even if this is dropped.
pub(crate) struct RunToCompletion<T: Send + 'static>(Option<BoxFuture<'static, thread::Result<T>>>);

/// The work panicked; the panic hook has logged the reason.
#[derive(Debug, thiserror::Error)]
#[error("reading from the database panicked")]
pub(crate) struct Panicked;

impl<T: Send + 'static> Future for RunToCompletion<T> {
    type Output = Result<T, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.0 else {
            return Poll::Ready(Err(Panicked));
        };
        let done = ready!(work.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(done.map_err(|_| Panicked))
    }
}

impl<T: Send + 'static> Drop for RunToCompletion<T> {
    fn drop(&mut self) {
        // Without a runtime, the process is about to end.
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            let rest: BoxFuture<'static, ()> =
                Box::pin(Client::current().run(async move { drop(work.await) }));
            runtime.spawn(rest);
        }
    }
}

/// Runs a closure like [`tokio::task::spawn_blocking`].
pub(crate) fn spawn_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
    let outcome = Outcome::default();
    let filled = Arc::clone(&outcome);
    let work: Box<dyn FnOnce() + Send> = Box::new(move || fill(&filled, work()));
    Task {
        ended: tokio::task::spawn_blocking(work),
        outcome,
    }
}

fn fill<T>(outcome: &Outcome<T>, value: T) {
    *outcome.lock() = Some(value);
}

impl<T> Future for Task<T> {
    type Output = Result<T, JoinError>;

    #[expect(
        clippy::expect_used,
        reason = "a task that has ended without an error has filled it"
    )]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(Pin::new(&mut self.ended).poll(context))?;
        let outcome = self.outcome.lock().take();
        Poll::Ready(Ok(outcome.expect("the outcome of a task that has ended")))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::poll_immediate;
    use tokio::sync::oneshot;

    use super::{finish, spawn, spawn_blocking};

    #[tokio::test]
    async fn waiting_caller_receives_the_task_result() {
        assert_eq!(spawn(async { "done" }).await.unwrap(), "done");
        assert_eq!(spawn_blocking(|| "done").await.unwrap(), "done");
    }

    #[tokio::test]
    async fn work_is_finished_without_a_waiting_caller() {
        let (let_go_on, go_on) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let mut work = finish(async {
            go_on.await.unwrap();
            done.send(()).unwrap();
        });
        assert!(poll_immediate(&mut work).await.is_none());
        drop(work);
        let_go_on.send(()).unwrap();
        is_done.await.unwrap();
    }

    #[tokio::test]
    async fn panic_of_work_is_an_error() {
        let panicked = finish(async { assert!(std::hint::black_box(false)) }).await;
        assert!(panicked.is_err());
        assert!(finish(async { 1 }).await.is_ok());
    }

    #[tokio::test]
    async fn panicking_task_is_an_error() {
        let panicked = spawn(async { assert!(std::hint::black_box(false)) }).await;
        assert!(panicked.unwrap_err().is_panic());
        let panicked = spawn_blocking(|| assert!(std::hint::black_box(false))).await;
        assert!(panicked.unwrap_err().is_panic());
    }

    #[tokio::test]
    async fn task_continues_without_a_waiting_caller() {
        let (let_go_on, go_on) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        drop(spawn(async move {
            go_on.await.unwrap();
            done.send(()).unwrap();
        }));
        let_go_on.send(()).unwrap();
        is_done.await.unwrap();
    }
}
