//! How a replica learns that something may have changed.

use std::future::pending;
use std::pin::pin;

use futures_util::{FutureExt, StreamExt};

use super::store::PostgresStore;

impl PostgresStore {
    /// Returns when the server reports a change, or when the connection for these reports breaks: then a poll
    /// shows whether another can be made.
    pub(super) async fn hint_of_change(&self) {
        if !self.listens {
            return pending().await;
        }
        let Ok(mut connection) = self.connection().await else {
            return pending().await;
        };
        let mut notifications = pin!(connection.notifications_stream());
        notifications.next().await;
        // One poll answers all that came together.
        while let Some(Some(Ok(_))) = notifications.next().now_or_never() {}
    }
}
