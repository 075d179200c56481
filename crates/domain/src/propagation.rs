//! Waiting for other servers before a change of access is answered.

use std::sync::Arc;

use async_trait::async_trait;

/// Waits for servers that may still accept ended keys.
#[async_trait]
pub trait Propagation: Send + Sync {
    /// Waits until every server has seen all changes of access that were committed before this call, or may
    /// answer nothing that it read before them.
    ///
    /// MUST end within some seconds, even if servers or the database fail: a server that does not answer must
    /// neither keep a key alive nor delay the answer to its revocation for longer.
    async fn wait(&self);
}

/// The propagation of use cases that change access; without one, this server is the only one, or none
/// remembers anything.
///
/// A use case waits before each answer that says that a key or membership has ended, also if it had ended
/// before: the request that ended it may still be waiting.
#[derive(Clone, Default)]
pub(crate) struct ToAllServers(Option<Arc<dyn Propagation>>);

impl ToAllServers {
    pub(crate) const fn by(propagation: Arc<dyn Propagation>) -> Self {
        Self(Some(propagation))
    }

    pub(crate) async fn wait(&self) {
        if let Some(propagation) = &self.0 {
            propagation.wait().await;
        }
    }

    /// The outcome of a change; waits for the others if it succeeded.
    pub(crate) async fn after<T, E>(&self, change: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let changed = change.await?;
        self.wait().await;
        Ok(changed)
    }
}

/// The method by which a use case with a field `to_all_servers` is given a propagation.
macro_rules! with_propagation {
    () => {
        /// Waits for other servers before it answers: see [`Propagation`](crate::propagation::Propagation).
        #[must_use]
        pub fn with_propagation(
            self,
            propagation: std::sync::Arc<dyn crate::propagation::Propagation>,
        ) -> Self {
            Self {
                to_all_servers: ToAllServers::by(propagation),
                ..self
            }
        }
    };
}

pub(crate) use with_propagation;
