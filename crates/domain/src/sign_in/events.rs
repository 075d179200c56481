//! The event of a change of which the store alone knows what it is.

use super::session::Session;
use crate::audit::{Act, Action, Actor, AuditEvent, Subject};

impl Act {
    /// The event that tells that a session ended because whoever acts signed in in the same browser. It names whose the
    /// session was, if it was somebody else's.
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
