//! Signing in to the console, and the sessions that follow.

use std::net::IpAddr;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::audit::{Act, Action, Actor, RequestSource, Subject};
use crate::clock::Clock;
use crate::id::{IdGenerator, SessionId, UserId};
use crate::ports::{AuditLog, StorageError};
use crate::random::Random;
use crate::secret::secret_type;
use crate::sign_in::UserAgent;
use crate::sign_in::accounts::Account;
use crate::sign_in::password::{HashingError, Password, PasswordHasher};
use crate::sign_in::ports::{
    AccountStore, NewSession, ReplacedSession, SessionStore, SignInThrottle, StartSessionError,
};
use crate::sign_in::throttle::{ThrottleBucket, Throttled};
use crate::user::{User, Username};

secret_type! {
    /// The secret in the session cookie. Each sign-in makes a new one.
    SessionToken,
    /// What is stored of a [`SessionToken`].
    SessionDigest
}

/// One browser in which a user is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its identifier.
    pub id: SessionId,
    /// Who is signed in.
    pub user_id: UserId,
    /// When they signed in.
    pub started_at: DateTime<Utc>,
    /// When they were last seen, to [`Session::SEEN_EVERY`].
    pub last_seen_at: DateTime<Utc>,
    /// From which address they signed in, if that is known.
    pub started_from: Option<IpAddr>,
    /// What their browser said that it is.
    pub user_agent: Option<UserAgent>,
}

impl Session {
    /// How long a session lives without being used.
    pub const IDLE: TimeDelta = TimeDelta::hours(12);
    /// How long a session lives in all.
    pub const ABSOLUTE: TimeDelta = TimeDelta::days(14);
    /// How often use is written down: often enough for [`Session::IDLE`], too rarely to weigh on any page.
    pub const SEEN_EVERY: TimeDelta = TimeDelta::minutes(1);

    /// Whether the session still lets its user in.
    #[must_use]
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        now < self.last_seen_at + Self::IDLE && now < self.started_at + Self::ABSOLUTE
    }

    fn is_due_to_be_seen(&self, now: DateTime<Utc>) -> bool {
        now >= self.last_seen_at + Self::SEEN_EVERY
    }
}

/// A live session and its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// The session.
    pub session: Session,
    /// The user.
    pub user: User,
}

/// What somebody sends to sign in.
pub struct SignInAttempt<'a> {
    /// The username as typed. People add spaces and capitals, which no username has.
    pub username: &'a str,
    /// The password as typed.
    pub password: Password,
    /// What their browser says that it is.
    pub user_agent: Option<UserAgent>,
    /// The session of the same browser, which ends with this sign-in.
    pub previous: Option<SessionToken>,
    /// From where.
    pub source: RequestSource,
}

/// Why nobody was signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The username or the password is wrong; nobody is told which.
    #[error("the username or the password is wrong")]
    WrongCredentials,
    /// Too many attempts, for this account or from this address.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The password could not be checked.
    #[error(transparent)]
    Hashing(#[from] HashingError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Signs people in and out.
#[derive(Clone)]
pub struct SignIn {
    accounts: Arc<dyn AccountStore>,
    sessions: Arc<dyn SessionStore>,
    throttle: Arc<dyn SignInThrottle>,
    audit_log: Arc<dyn AuditLog>,
    hasher: Arc<dyn PasswordHasher>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    ids: Arc<IdGenerator>,
}

/// What [`SignIn`] works with.
pub struct SignInPorts {
    /// Accounts.
    pub accounts: Arc<dyn AccountStore>,
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// The throttle.
    pub throttle: Arc<dyn SignInThrottle>,
    /// Where refusals are written.
    pub audit_log: Arc<dyn AuditLog>,
    /// Hashes passwords.
    pub hasher: Arc<dyn PasswordHasher>,
}

impl SignIn {
    /// The use cases over these ports.
    #[must_use]
    pub fn new(
        ports: SignInPorts,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        ids: Arc<IdGenerator>,
    ) -> Self {
        let SignInPorts {
            accounts,
            sessions,
            throttle,
            audit_log,
            hasher,
        } = ports;
        Self {
            accounts,
            sessions,
            throttle,
            audit_log,
            hasher,
            clock,
            random,
            ids,
        }
    }

    /// Signs somebody in and returns the secret for their cookie.
    ///
    /// Every attempt takes from the throttle before anything is looked up; a successful one gives back to the account.
    ///
    /// # Errors
    /// See [`SignInError`]. An unknown username and a wrong password take the same time and answer alike; only the
    /// audit log tells which account was tried, if there is one.
    pub async fn sign_in(&self, attempt: SignInAttempt<'_>) -> Result<SessionToken, SignInError> {
        let now = self.clock.now();
        let typed = attempt.username.trim().to_ascii_lowercase();
        let by_account = ThrottleBucket::account(&typed);
        self.throttle_attempt(by_account, attempt.source.address, now)
            .await?;

        let account = match Username::parse(&typed) {
            Ok(username) => self.accounts.find(&username).await?,
            Err(_) => None,
        };
        let verified = match &account {
            Some(account) => {
                self.hasher
                    .verify(&attempt.password, &account.password_hash)
                    .await?
            }
            None => {
                self.hasher.verify_nothing(&attempt.password).await?;
                false
            }
        };
        // What was typed is not written down: people type passwords into the wrong field.
        let tried = account
            .as_ref()
            .map_or(Subject::Installation, |account| Subject::User(account.user.id));
        let Some(account) = account.filter(|_| verified) else {
            return self.refuse(tried, now, attempt.source).await;
        };
        self.throttle.clear(by_account).await?;
        let source = attempt.source.clone();
        match self
            .start_session(account, now, attempt.user_agent, attempt.previous, source)
            .await
        {
            Ok(token) => Ok(token),
            Err(StartSessionError::PasswordReplaced) => self.refuse(tried, now, attempt.source).await,
            Err(StartSessionError::Storage(error)) => Err(error.into()),
        }
    }

    async fn refuse<T>(
        &self,
        tried: Subject,
        now: DateTime<Utc>,
        source: RequestSource,
    ) -> Result<T, SignInError> {
        let act = self.act(Actor::Anonymous, now, source);
        self.audit_log.record(act.refusal(Action::SignIn, tried)).await?;
        Err(SignInError::WrongCredentials)
    }

    async fn throttle_attempt(
        &self,
        by_account: ThrottleBucket,
        address: Option<IpAddr>,
        now: DateTime<Utc>,
    ) -> Result<(), SignInError> {
        // The address first: while it is refused, it fills no account's bucket and makes no new ones.
        for bucket in address
            .map(ThrottleBucket::address)
            .into_iter()
            .chain([by_account])
        {
            if let Some(throttled) = self.throttle.take(bucket, now).await? {
                return Err(throttled.into());
            }
        }
        Ok(())
    }

    async fn start_session(
        &self,
        account: Account,
        now: DateTime<Utc>,
        user_agent: Option<UserAgent>,
        previous: Option<SessionToken>,
        source: RequestSource,
    ) -> Result<SessionToken, StartSessionError> {
        let token = SessionToken::generate(&*self.random);
        let user_id = account.user.id;
        let session = Session {
            id: self.ids.next(),
            user_id,
            started_at: now,
            last_seen_at: now,
            started_from: source.address,
            user_agent,
        };
        let act = self.act(Actor::User(user_id), now, source);
        let event = act.event(Action::SignIn, Subject::Session(session.id));
        let new = NewSession {
            session,
            digest: token.digest(),
            verified_against: account.password_hash,
            replaces: previous.map(|token| ReplacedSession {
                digest: token.digest(),
                act,
            }),
        };
        self.sessions.start(new, event).await?;
        Ok(token)
    }

    /// Who the bearer of a session cookie is, if it still lets anybody in. Notes that they were seen.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn signed_in(&self, token: &SessionToken) -> Result<Option<SignedIn>, StorageError> {
        let now = self.clock.now();
        let Some(found) = self
            .sessions
            .find(&token.digest())
            .await?
            .filter(|s| s.session.is_live(now))
        else {
            return Ok(None);
        };
        if found.session.is_due_to_be_seen(now) {
            self.sessions.seen(found.session.id, now).await?;
        }
        Ok(Some(found))
    }

    /// Ends a session. One that has ended already stays so.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn sign_out(&self, signed_in: &SignedIn, source: RequestSource) -> Result<(), StorageError> {
        let act = self.act(Actor::User(signed_in.user.id), self.clock.now(), source);
        let event = act.event(Action::SignOut, Subject::Session(signed_in.session.id));
        let (user, session) = (signed_in.user.id, signed_in.session.id);
        self.sessions.end(user, session, event).await?;
        Ok(())
    }

    fn act(&self, actor: Actor, at: DateTime<Utc>, source: RequestSource) -> Act {
        Act::new(&self.ids, at, actor, source)
    }
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
    fn a_session_lives_12_hours_without_use() {
        let session = session();
        let end = session.last_seen_at + TimeDelta::hours(12);
        assert!(session.is_live(session.started_at));
        assert!(session.is_live(end - MILLISECOND));
        assert!(!session.is_live(end));
    }

    #[test]
    fn a_session_lives_14_days_however_much_it_is_used() {
        let mut session = session();
        let end = session.started_at + TimeDelta::days(14);
        session.last_seen_at = end - MILLISECOND;
        assert!(session.is_live(end - MILLISECOND));
        assert!(!session.is_live(end));
    }

    #[test]
    fn use_is_written_down_once_a_minute() {
        let session = session();
        let due = session.last_seen_at + TimeDelta::minutes(1);
        assert!(!session.is_due_to_be_seen(due - MILLISECOND));
        assert!(session.is_due_to_be_seen(due));
    }

    #[test]
    fn a_session_token_survives_being_sent_and_shows_itself_to_nobody() {
        let random = SeededRandom::new(1);
        let token = SessionToken::generate(&random);
        let sent = SessionToken::parse(token.expose()).unwrap();
        assert_eq!(sent.digest(), token.digest());
        assert_ne!(SessionToken::generate(&random).digest(), token.digest());
        assert_eq!(format!("{token:?}"), "SessionToken(redacted)");
        assert_eq!(format!("{:?}", token.digest()), "SessionDigest(redacted)");
    }

    #[test]
    fn only_64_lower_case_hexadecimal_digits_are_a_session_token() {
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
