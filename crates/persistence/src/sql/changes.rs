//! Changes that a check may answer.

use std::convert::Infallible;

use keyward_domain::ports::StorageError;
use tokio::time::Instant;

use super::dialect::{Connection, Store};
use crate::abort::Work;
use crate::claim::Claim;
use crate::key_change_turns::TurnRequest;
use crate::precheck;

impl Store {
    /// Makes a change that sends [`begin`](super::dialect::begin) itself, but first runs a check that takes no
    /// lock, waits for no turn and may already know the answer. A check that fails or is late decides nothing; its time counts
    /// towards the change's deadline.
    pub(in super::super) async fn change_after_precheck<T, E, L, W>(
        &self,
        turn: Option<TurnRequest>,
        precheck: L,
        claim: Claim,
        work: W,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        L: Work<Connection, Option<Result<T, E>>, Infallible> + Clone,
        W: Work<Connection, T, E> + Clone,
    {
        let begun = Instant::now();
        let (reading, changing) = (self.clone(), self.clone());
        precheck::before(
            begun,
            self.timeouts.answer,
            async move { reading.read(precheck).await },
            async move {
                let change = changing.change_begun(begun, turn, claim, work);
                claim.client().run(change).await
            },
        )
        .await
    }
}
