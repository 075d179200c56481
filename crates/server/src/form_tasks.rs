//! Handles the console's forms to the end, even if their clients leave.
//!
//! Otherwise, two clicks would use up two attempts to sign in, although the password was right.

use std::net::IpAddr;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use keyward_persistence::on_behalf_of;
use poem::endpoint::{BoxEndpoint, DynEndpoint};
use poem::error::InternalServerError;
use poem::{Request, Response};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{Instrument as _, warn};

/// The maximum number of forms that are handled in tasks of their own: those of clients that are gone count
/// for no connection, and each may hold 64 KiB.
const MAX_FORMS: u32 = 1_000;

/// How long shutdown waits for forms: for the longest wait of a password for its turn, and then some.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Forms that are being handled. Clones share them.
#[derive(Clone)]
pub(crate) struct FormTasks {
    console: Arc<BoxEndpoint<'static, Response>>,
    permits: Arc<Semaphore>,
}

impl FormTasks {
    pub(crate) fn new(console: Arc<BoxEndpoint<'static, Response>>) -> Self {
        Self {
            console,
            permits: Arc::new(Semaphore::new(MAX_FORMS as usize)),
        }
    }

    /// Answers a form, and continues if the client stops waiting for the answer.
    pub(crate) async fn answer(&self, request: Request, client: Option<IpAddr>) -> poem::Result<Response> {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return DynEndpoint::call(&**self.console, request).await;
        };
        let console = Arc::clone(&self.console);
        let answering = async move {
            let _permit = permit;
            DynEndpoint::call(&**console, request).await
        };
        let task = tokio::spawn(on_behalf_of(client, answering).in_current_span());
        task.await.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // Only the end of the runtime cancels it.
            Err(cancelled) => Err(InternalServerError(cancelled)),
        })
    }

    /// Waits for the forms of clients that left, once no connection is open.
    pub(crate) async fn finish(self) {
        let all = timeout(SHUTDOWN_TIMEOUT, self.permits.acquire_many(MAX_FORMS));
        if all.await.is_err() {
            let unfinished = (MAX_FORMS as usize).saturating_sub(self.permits.available_permits());
            warn!(unfinished, "forms of clients that left were not handled in time");
        }
    }
}

#[cfg(test)]
mod tests {
    use poem::EndpointExt as _;
    use poem::endpoint::make;
    use tokio::sync::Notify;

    use super::*;

    /// Forms that wait for a notification, the notification, and the number of completed forms.
    fn waiting_forms() -> (FormTasks, Arc<Notify>, Arc<Semaphore>) {
        let (go_on, done) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
        let (waits_for, counts) = (Arc::clone(&go_on), Arc::clone(&done));
        let console = make(move |_| {
            let (go_on, done) = (Arc::clone(&waits_for), Arc::clone(&counts));
            async move {
                go_on.notified().await;
                done.add_permits(1);
                Ok::<_, poem::Error>(Response::default())
            }
        });
        (FormTasks::new(Arc::new(console.boxed())), go_on, done)
    }

    /// Sends a form, and leaves before it is answered.
    async fn client_leaves(forms: &FormTasks) -> bool {
        let answering = forms.answer(Request::default(), None);
        timeout(Duration::ZERO, answering).await.is_err()
    }

    #[tokio::test]
    async fn shutdown_waits_for_a_form_whose_client_left() {
        let (forms, go_on, done) = waiting_forms();
        assert!(client_leaves(&forms).await);
        let finishing = tokio::spawn(forms.finish());
        tokio::task::yield_now().await;
        assert!(!finishing.is_finished());
        go_on.notify_one();
        finishing.await.unwrap();
        assert_eq!(done.available_permits(), 1);
    }

    #[tokio::test]
    async fn forms_beyond_the_bound_end_with_their_clients() {
        let (forms, go_on, done) = waiting_forms();
        for _ in 0..MAX_FORMS + 10 {
            assert!(client_leaves(&forms).await);
        }
        tokio::task::yield_now().await;
        for _ in 0..MAX_FORMS {
            go_on.notify_one();
            tokio::task::yield_now().await;
        }
        forms.finish().await;
        assert_eq!(done.available_permits(), MAX_FORMS as usize);
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_does_not_wait_for_a_form_for_ever() {
        let (forms, _, done) = waiting_forms();
        assert!(client_leaves(&forms).await);
        forms.finish().await;
        assert_eq!(done.available_permits(), 0);
    }
}
