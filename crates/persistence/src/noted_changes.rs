//! Collects from the events of a running transaction whose access it changes.
//!
//! Every change writes its event in its own transaction, so that the writer of events sees all changes. They
//! are noted there, and numbered as the last act before COMMIT: the counter is one row, and a transaction
//! that held it and then waited for another lock could wait for one that waits for the counter.

use std::cell::RefCell;

use keyward_domain::access_changes::Concerns;
use keyward_domain::audit::AuditEvent;

tokio::task_local! {
    static NOTED: RefCell<Concerns>;
}

/// Notes whose access an event says to have changed. It is written in the transaction that is running.
pub(crate) fn note(event: &AuditEvent) {
    // Without a running change, there is nothing to collect for.
    let _ = NOTED.try_with(|noted| noted.borrow_mut().note(event));
}

/// Runs the work of a change. Also returns what was noted meanwhile.
pub(crate) async fn noting<T>(work: impl Future<Output = T>) -> (T, Concerns) {
    let noting = async {
        let done = work.await;
        (done, NOTED.with(RefCell::take))
    };
    NOTED.scope(RefCell::default(), noting).await
}

/// The same for work that does not await anything.
pub(crate) fn noting_at_once<T>(work: impl FnOnce() -> T) -> (T, Concerns) {
    NOTED.sync_scope(RefCell::default(), || {
        let done = work();
        (done, NOTED.with(RefCell::take))
    })
}
