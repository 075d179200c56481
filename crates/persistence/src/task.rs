//! Tasks that share one spawned type, whatever their output.
//!
//! tokio's task code is compiled again for every type of spawned future or closure, and each port method has its own
//! for each database. Boxed, they share one type and one copy of that code, which would otherwise be a large part of
//! this crate.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;
use tokio::task::{JoinError, JoinHandle};

/// Work in its own task, which continues even if the handle is dropped.
pub(crate) struct Task<T> {
    ended: JoinHandle<()>,
    outcome: Outcome<T>,
}

/// Set when the work is done; never if it panics or is cancelled.
type Outcome<T> = Arc<Mutex<Option<T>>>;

/// Runs a future like [`tokio::spawn`].
pub(crate) fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Task<T> {
    let outcome = Outcome::default();
    let filled = Arc::clone(&outcome);
    let work: BoxFuture<'static, ()> = Box::pin(async move { fill(&filled, work.await) });
    Task {
        ended: tokio::spawn(work),
        outcome,
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
    *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

impl<T> Future for Task<T> {
    type Output = Result<T, JoinError>;

    #[expect(
        clippy::expect_used,
        reason = "a task that has ended without an error has filled it"
    )]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(Pin::new(&mut self.ended).poll(context))?;
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        Poll::Ready(Ok(outcome.expect("the outcome of a task that has ended")))
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::{spawn, spawn_blocking};

    #[tokio::test]
    async fn waiting_caller_receives_the_task_result() {
        assert_eq!(spawn(async { "done" }).await.unwrap(), "done");
        assert_eq!(spawn_blocking(|| "done").await.unwrap(), "done");
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
