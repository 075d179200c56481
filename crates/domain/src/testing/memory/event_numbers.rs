use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::id::AuditEventId;
use crate::ports::AuditLogId;

/// The numbers of the events. Each store's log is one of its own.
pub(super) struct Numbers {
    pub(super) log: AuditLogId,
    last: u64,
    pub(super) of_events: HashMap<AuditEventId, u64>,
    pub(super) removed_through: u64,
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
