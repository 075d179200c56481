use async_trait::async_trait;

use super::{MemoryStore, State};
use crate::id::AuditEventId;
use crate::page::PageSize;
use crate::ports::{AuditFeed, FeedPage, FeedPosition, ReadFeedError, StorageError};

impl State {
    fn position(&self, event: AuditEventId) -> Option<FeedPosition> {
        Some(FeedPosition {
            number: *self.numbers.of_events.get(&event)?,
            log: self.numbers.log,
            event,
        })
    }
}

#[async_trait]
impl AuditFeed for MemoryStore {
    async fn events_after(
        &self,
        after: Option<FeedPosition>,
        at_most: PageSize,
    ) -> Result<FeedPage, ReadFeedError> {
        let state = self.state()?;
        let numbers = &state.numbers;
        let after = match after {
            None => 0,
            Some(position) => match state.position(position.event) {
                Some(found) => found.number,
                None if position.log == numbers.log && position.number <= numbers.removed_through => {
                    position.number
                }
                None => return Err(ReadFeedError::UnknownPosition(position)),
            },
        };
        // Events stand in the order in which they were written.
        let later = state.events.iter().filter_map(|event| {
            let position = state.position(event.id)?;
            (position.number > after).then(|| (position, event.clone()))
        });
        Ok(FeedPage {
            entries: later.take(at_most.items()).collect(),
            after,
            removed_through: numbers.removed_through,
        })
    }

    async fn last_position(&self) -> Result<Option<FeedPosition>, StorageError> {
        let state = self.state()?;
        Ok(state.events.last().and_then(|event| state.position(event.id)))
    }
}
