//! Runs tasks concurrently, on the runtime that the store needs.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, join_all, poll_fn};

use super::scene::Scene;
use super::stores::KeyStores;

/// How long a store may continue a change after its caller stopped waiting.
const DEADLINE: Duration = Duration::from_secs(10);

impl<S: AsRef<KeyStores>> Scene<S> {
    /// Runs tasks side by side and returns their results, in the order in which they finished.
    pub(super) async fn in_parallel<T: Send + 'static>(
        &self,
        tasks: impl IntoIterator<Item = BoxFuture<'static, T>>,
    ) -> Vec<T> {
        let spawn = self.stores.as_ref().spawn;
        let results = Arc::new(Mutex::new(Vec::new()));
        let running: Vec<_> = tasks
            .into_iter()
            .map(|task| {
                let results = Arc::clone(&results);
                (spawn)(Box::pin(async move {
                    let result = task.await;
                    results
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(result);
                }))
            })
            .collect();
        let started = running.len();
        join_all(running).await;
        let results = std::mem::take(&mut *results.lock().unwrap_or_else(PoisonError::into_inner));
        assert_eq!(results.len(), started, "every task ends with a result");
        results
    }

    /// Runs acts concurrently, with the end of the right to them in the middle. Returns the result of that.
    pub(super) async fn in_parallel_with_an_end<T: Send + 'static>(
        &self,
        acts: impl Iterator<Item = BoxFuture<'static, ()>>,
        end: BoxFuture<'static, T>,
    ) -> T {
        let mut tasks: Vec<BoxFuture<'static, Option<T>>> = Vec::new();
        for act in acts {
            tasks.push(Box::pin(async move {
                act.await;
                None
            }));
        }
        let ending: BoxFuture<'static, Option<T>> = Box::pin(async move { Some(end.await) });
        tasks.insert(tasks.len() / 2, ending);
        let recorded = self.in_parallel(tasks).await.into_iter().flatten().next();
        recorded.expect("the end tells something")
    }
}

/// Starts a call and stops waiting for it, as a server does when its client hangs up.
pub(super) async fn abandon<T>(call: impl Future<Output = T>) {
    let mut call = Box::pin(call);
    poll_fn(|context| {
        let _ = call.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

/// Asks again and again until the answer is yes.
pub(super) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what}: not within {DEADLINE:?}");
        yield_once().await;
    }
}

/// Lets other tasks of the same thread run.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
