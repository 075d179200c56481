//! Sessions that end because another one starts, or because their user ends all others.

use keyward_domain::audit::{Act, Action, AuditEvent, Subject};
use keyward_domain::sign_in::session::Session;

/// How many of a user's `sessions`, oldest first, end when another one starts.
pub(crate) fn ended_by_one_more(sessions: i64) -> i64 {
    let too_many = sessions - (Session::MAX_PER_USER as i64 - 1);
    too_many.clamp(0, Session::MAX_ENDED_AT_ONCE as i64)
}

/// One event for each ended session that was live.
pub(crate) fn events_of_ends(mut ended: Vec<Session>, act: &Act) -> Vec<AuditEvent> {
    ended.sort_by_key(|session| session.id);
    let live = ended.iter().filter(|session| session.is_live(act.at));
    live.map(|session| act.event(Action::EndSession, Subject::Session(session.id)))
        .collect()
}
