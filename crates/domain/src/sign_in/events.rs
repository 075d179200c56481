//! An event that only the store can complete, because it knows which session a sign-in replaces.

use super::session::Session;
use crate::audit::{Act, Action, Actor, AuditEvent, Subject};

impl Act {
    /// The event for a session that ended because the actor signed in with the same browser. It names the
    /// session's user, if that is not the actor.
    #[must_use]
    pub fn end_of_replaced(&self, session: &Session) -> AuditEvent {
        let subject = Subject::Session(session.id);
        if self.actor == Actor::User(session.user_id) {
            self.event(Action::SignOut, subject)
        } else {
            self.event_with(Action::SignOut, subject, Subject::User(session.user_id))
        }
    }
}
