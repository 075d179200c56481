//! Console sessions: their tokens, and how long they last.

use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};

use crate::audit::Act;
use crate::id::{SessionId, UserId};
use crate::secret::secret_type;
use crate::sign_in::UserAgent;
use crate::sign_in::password::PasswordHash;
use crate::user::User;

secret_type! {
    /// The secret in the session cookie. Each sign-in makes a new one.
    SessionToken,
    /// The stored digest of a [`SessionToken`].
    SessionDigest
}

/// One browser in which a user is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Not its token: it may be shown.
    pub id: SessionId,
    /// The signed-in user.
    pub user_id: UserId,
    /// When they signed in.
    pub started_at: DateTime<Utc>,
    /// When they were last seen, to [`Session::LAST_SEEN_INTERVAL`].
    pub last_seen_at: DateTime<Utc>,
    /// From which address they signed in, if that is known.
    pub started_from: Option<IpAddr>,
    /// The name that their browser sent.
    pub user_agent: Option<UserAgent>,
}

impl Session {
    /// How long a session lives without being used.
    pub const IDLE_TIMEOUT: TimeDelta = TimeDelta::hours(12);
    /// How long a session lives in all.
    pub const ABSOLUTE_TIMEOUT: TimeDelta = TimeDelta::days(14);
    /// The most sessions that a user has at a time.
    pub const MAX_PER_USER: usize = 100;
    /// The maximum number of sessions ended by one sign-in, so that a sign-in is fast however many there are.
    pub const MAX_ENDED_AT_ONCE: usize = 500;
    /// How often the last use is stored: often enough for [`Session::IDLE_TIMEOUT`], rarely enough not to
    /// slow down pages.
    pub const LAST_SEEN_INTERVAL: TimeDelta = TimeDelta::minutes(1);

    /// Whether the session is still valid. One that was used further ahead than [`Session::IDLE_TIMEOUT`] was
    /// used while a clock was wrong, and is not.
    #[must_use]
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        let is_ahead = |at| at > now + Self::IDLE_TIMEOUT;
        now < self.expires_at() && !is_ahead(self.last_seen_at) && !is_ahead(self.started_at)
    }

    /// From when on it is not valid, unless it is used before.
    #[must_use]
    pub fn expires_at(&self) -> DateTime<Utc> {
        let unused = self.last_seen_at + Self::IDLE_TIMEOUT;
        unused.min(self.started_at + Self::ABSOLUTE_TIMEOUT)
    }

    pub(super) fn needs_last_seen_update(&self, now: DateTime<Utc>) -> bool {
        now >= self.last_seen_at + Self::LAST_SEEN_INTERVAL
    }
}

/// A live session and its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// The session whose token was sent.
    pub session: Session,
    /// The user who signed in.
    pub user: User,
}

/// A session that stays when its user changes their password. It gets a new token, so that a copy of the old one is
/// signed out like all other sessions. Ending the others without the password renews no token, or the owner of a copy
/// could take over the session.
#[derive(Debug, Clone, Copy)]
pub struct KeptSession {
    /// It keeps its identifier.
    pub id: SessionId,
    /// The digest of its new token.
    pub digest: SessionDigest,
}

/// A session to be stored.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// As it is to be stored, without its token.
    pub session: Session,
    /// Its token's digest.
    pub digest: SessionDigest,
    /// The hash that the user's password was verified against. Verifying takes its time, and a password that
    /// is replaced meanwhile ends the sessions that exist then: this one would outlive it.
    pub verified_against: PasswordHash,
    /// The token's digest of the browser's previous session, which ends. Only its cookie is known, so the store decides
    /// whether there is such a session and writes the event.
    pub replaces: Option<SessionDigest>,
    /// The act that ends the other sessions.
    pub act: Act,
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::{Session, SessionToken};
    use crate::clock::Clock;
    use crate::testing::{Builder, SeededRandom};

    const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

    fn session() -> Session {
        let make = Builder::new(1);
        Session {
            id: make.ids.next(),
            user_id: make.ids.next(),
            started_at: make.clock.now(),
            last_seen_at: make.clock.now(),
            started_from: None,
            user_agent: None,
        }
    }

    #[test]
    fn session_expires_after_12_idle_hours() {
        let session = session();
        let end = session.last_seen_at + TimeDelta::hours(12);
        assert!(session.is_live(session.started_at));
        assert!(session.is_live(end - MILLISECOND));
        assert!(!session.is_live(end));
    }

    #[test]
    fn session_expires_after_14_days_despite_use() {
        let mut session = session();
        let end = session.started_at + TimeDelta::days(14);
        session.last_seen_at = end - MILLISECOND;
        assert!(session.is_live(end - MILLISECOND));
        assert!(!session.is_live(end));
    }

    #[test]
    fn session_use_is_recorded_once_a_minute() {
        let session = session();
        let due = session.last_seen_at + TimeDelta::minutes(1);
        assert!(!session.needs_last_seen_update(due - MILLISECOND));
        assert!(session.needs_last_seen_update(due));
    }

    #[test]
    fn session_token_round_trips_and_is_hidden_from_debug_output() {
        let random = SeededRandom::new(1);
        let token = SessionToken::generate(&random);
        let sent = SessionToken::parse(token.expose()).unwrap();
        assert_eq!(sent.digest(), token.digest());
        assert_ne!(SessionToken::generate(&random).digest(), token.digest());
        assert_eq!(format!("{token:?}"), "SessionToken(redacted)");
        assert_eq!(format!("{:?}", token.digest()), "SessionDigest(redacted)");
    }

    #[test]
    fn session_token_is_64_lowercase_hexadecimal_digits() {
        for text in [
            String::new(),
            "0".repeat(63),
            "0".repeat(65),
            "A".repeat(64),
            "g".repeat(64),
            "é".repeat(32),
        ] {
            assert!(SessionToken::parse(&text).is_none(), "{text:?}");
        }
    }
}
