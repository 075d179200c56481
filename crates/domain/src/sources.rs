//! Time, randomness and identifiers, as every use case is given them.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::audit::{Act, Actor, RequestSource};
use crate::clock::Clock;
use crate::id::{IdGenerator, NewId};
use crate::random::Random;

/// One clock, one source of randomness, and the one generator of identifiers over both. A process has one of
/// these, and every use case a clone of it: only then do identifiers sort by the order in which they were
/// made.
#[derive(Clone)]
pub struct Sources {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    pub(crate) ids: Arc<IdGenerator>,
}

impl Sources {
    /// Identifiers of this time and randomness.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        let ids = Arc::new(IdGenerator::new(Arc::clone(&clock), Arc::clone(&random)));
        Self { clock, random, ids }
    }

    /// The current time of the clock.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The next identifier, of the kind that the caller asks for.
    #[must_use]
    pub fn next_id<Id: From<NewId>>(&self) -> Id {
        self.ids.next()
    }

    /// An act of this actor at the current time, in no organization.
    #[must_use]
    pub fn act(&self, actor: Actor, source: RequestSource) -> Act {
        self.act_at(self.now(), actor, source)
    }

    /// An act of this actor at a time that was read before.
    #[must_use]
    pub fn act_at(&self, at: DateTime<Utc>, actor: Actor, source: RequestSource) -> Act {
        Act::new(&self.ids, at, actor, source)
    }
}

impl Clock for Sources {
    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }
}

impl Random for Sources {
    fn fill(&self, buffer: &mut [u8]) {
        self.random.fill(buffer);
    }
}
