//! Sessions that end because another goes on or starts.

use keyward_domain::audit::{Act, Action, AuditEvent, Subject};
use keyward_domain::sign_in::session::Session;

/// How many sessions a user may keep when another starts.
pub(crate) const ROOM_FOR_ONE_MORE: i64 = Session::MOST as i64 - 1;

/// The events that tell of their ends, for those that were live.
pub(crate) fn events_of_ends(mut ended: Vec<Session>, act: &Act) -> Vec<AuditEvent> {
    ended.sort_by_key(|session| session.id);
    let live = ended.iter().filter(|session| session.is_live(act.at));
    live.map(|session| act.event(Action::EndSession, Subject::Session(session.id)))
        .collect()
}
