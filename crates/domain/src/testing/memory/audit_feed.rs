use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;

use super::{MemoryStore, State};
use crate::id::AuditEventId;
use crate::page::PageSize;
use crate::ports::{AuditFeed, AuditLogId, FeedPage, FeedPosition, ReadFeedError, StorageError};

/// The numbers of the events. Each store's log is one of its own.
pub(super) struct Numbers {
    log: AuditLogId,
    last: u64,
    of_events: HashMap<AuditEventId, u64>,
    removed_through: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        static LOGS: AtomicU32 = AtomicU32::new(1);
        Self {
            log: AuditLogId(LOGS.fetch_add(1, Ordering::Relaxed)),
            last: 0,
            of_events: HashMap::new(),
            removed_through: 0,
        }
    }
}

impl Numbers {
    pub(super) fn give(&mut self, event: AuditEventId) {
        self.last += 1;
        self.of_events.insert(event, self.last);
    }

    pub(super) fn remove(&mut self, event: AuditEventId) {
        if let Some(number) = self.of_events.remove(&event) {
            self.removed_through = self.removed_through.max(number);
        }
    }
}

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
