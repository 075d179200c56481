//! A user's own account: where they are signed in, and their password.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::audit::{Act, Action, Actor, AuditEvent, Outcome, RequestSource, Subject};
use crate::id::{SessionId, UserId};
use crate::page::{PageRequest, PageSize};
use crate::ports::{AuditFilter, AuditLog, AuditPosition, StorageError};
use crate::sign_in::browser_memory::BrowserMemory;
use crate::sign_in::password::{HashingQueues, Password, PasswordHasher};
use crate::sign_in::ports::{
    AccountStore, AttemptKind, InstallationStore, PasswordChange, SessionStore, Throttle,
};
use crate::sign_in::refusals::{RefusalQueue, RefusedAttempt};
use crate::sign_in::remembered_browser::BrowserToken;
use crate::sign_in::session::{KeptSession, Session, SessionToken, SignedIn};
use crate::sign_in::signing_in::NewCookies;
use crate::sign_in::throttle::{EventLimit, ThrottleBucket};
use crate::sources::Sources;

pub use crate::sign_in::ports::ChangeOwnPasswordError;

/// The maximum number of refused attempts that are shown.
const REFUSED_ATTEMPTS_SHOWN: usize = 10;

/// The maximum number of steps of the store to find them, because a page waits for them.
const STEPS_FOR_REFUSED_ATTEMPTS: usize = 4;

/// The use cases of a signed-in user's own account.
#[derive(Clone)]
pub struct OwnAccount {
    ports: OwnAccountPorts,
    browsers: BrowserMemory,
    sources: Sources,
}

/// The ports that [`OwnAccount`] uses.
#[derive(Clone)]
pub struct OwnAccountPorts {
    /// The accounts, to read the current password and to store the new one.
    pub accounts: Arc<dyn AccountStore>,
    /// The user's sessions, to list and to end.
    pub sessions: Arc<dyn SessionStore>,
    /// The key of remembered browsers.
    pub installation: Arc<dyn InstallationStore>,
    /// The throttle, which counts guesses at the current password.
    pub throttle: Arc<dyn Throttle>,
    /// The audit log, to read refused attempts.
    pub audit_log: Arc<dyn AuditLog>,
    /// The queue of refusals to be recorded.
    pub refusals: Arc<dyn RefusalQueue>,
    /// Hashes passwords, a bounded number at a time.
    pub hasher: Arc<dyn PasswordHasher>,
}

/// The current password and the new one.
#[derive(Debug)]
pub struct NewPassword {
    /// As typed; it may be wrong.
    pub current: Password,
    /// The new password, which [`Password::choose`] has accepted.
    pub new: Password,
    /// The cookie that names users who signed in in this browser before.
    pub browser: Option<BrowserToken>,
}

/// Why a session was not ended.
#[derive(Debug, thiserror::Error)]
pub enum EndSessionError {
    /// The user has no such session, or it is not valid any more.
    #[error("no such session")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl OwnAccount {
    /// The use cases over these ports.
    #[must_use]
    pub fn new(ports: OwnAccountPorts, sources: Sources) -> Self {
        Self {
            browsers: BrowserMemory::new(Arc::clone(&ports.installation), sources.clone()),
            ports,
            sources,
        }
    }

    /// The user's valid sessions, the latest first.
    pub async fn sessions(&self, signed_in: &SignedIn) -> Result<Vec<Session>, StorageError> {
        let now = self.sources.now();
        let mut sessions = self.ports.sessions.list(signed_in.user.id).await?;
        sessions.retain(|session| session.is_live(now));
        Ok(sessions)
    }

    /// The latest refused attempts at the user's password, the latest first: wrong passwords at sign-in
    /// ([`Action::SignIn`]), wrong current passwords ([`Action::ChangePassword`]), and attempts that were not
    /// checked because there were too many ([`Action::LimitAttempts`]). Of many attempts only some are
    /// recorded. Half of the list is reserved for wrong current passwords, because the others are those of strangers,
    /// who could fill the list.
    pub async fn refused_attempts(&self, signed_in: &SignedIn) -> Result<Vec<AuditEvent>, StorageError> {
        let of_user = AuditFilter {
            subject: Some(Subject::User(signed_in.user.id)),
            ..AuditFilter::default()
        };
        let at_current = AuditFilter {
            action: Some(Action::ChangePassword),
            ..of_user.clone()
        };
        let (refused, are_all) = self.latest_refused(of_user).await?;
        let is_at_current = |event: &AuditEvent| event.action == Action::ChangePassword;
        let (mut guesses, mut others): (Vec<_>, Vec<_>) = refused.into_iter().partition(is_at_current);
        if !are_all {
            (guesses, _) = self.latest_refused(at_current).await?;
        }
        others.truncate(REFUSED_ATTEMPTS_SHOWN - guesses.len().min(REFUSED_ATTEMPTS_SHOWN / 2));
        guesses.truncate(REFUSED_ATTEMPTS_SHOWN - others.len());
        others.append(&mut guesses);
        others.sort_by_key(|event| Reverse(AuditPosition::from(event)));
        Ok(others)
    }

    /// At least as many refusals of the installation's log as are shown, the latest first, and whether these are all.
    async fn latest_refused(&self, filter: AuditFilter) -> Result<(Vec<AuditEvent>, bool), StorageError> {
        // Nearly everything in that log that is about a user is a refused attempt. The store may search in several
        // steps; a log in which they are rare is searched no further.
        let mut refused = Vec::new();
        let mut page = PageRequest::first(PageSize::DEFAULT);
        for _ in 0..STEPS_FOR_REFUSED_ATTEMPTS {
            let found = self.ports.audit_log.list(None, filter.clone(), page).await?;
            let is_refused = |event: &AuditEvent| event.outcome == Outcome::Refused;
            refused.extend(found.items.into_iter().filter(is_refused));
            page.after = found.next;
            if page.after.is_none() || refused.len() >= REFUSED_ATTEMPTS_SHOWN {
                break;
            }
        }
        Ok((refused, page.after.is_none()))
    }

    /// Ends one of the user's sessions.
    ///
    /// # Errors
    /// See [`EndSessionError`].
    pub async fn end_session(
        &self,
        signed_in: &SignedIn,
        id: SessionId,
        source: RequestSource,
    ) -> Result<(), EndSessionError> {
        let event = self
            .sources
            .act(Actor::User(signed_in.user.id), source)
            .event(Action::EndSession, Subject::Session(id));
        let was_live = self.ports.sessions.end(signed_in.user.id, id, event).await?;
        was_live.then_some(()).ok_or(EndSessionError::NotFound)
    }

    /// Ends all of the user's sessions but this one. Returns how many there were: none if this one was ended
    /// meanwhile.
    ///
    /// # Errors
    /// Only if the store fails; then all of them stay valid.
    pub async fn end_other_sessions(
        &self,
        signed_in: &SignedIn,
        source: RequestSource,
    ) -> Result<usize, StorageError> {
        let act = self.sources.act(Actor::User(signed_in.user.id), source);
        let (user, keep) = (signed_in.user.id, signed_in.session.id);
        self.ports.sessions.end_others(user, keep, act).await
    }

    /// Changes the user's password, and ends all their other sessions with it. Their keys stay valid. Returns
    /// the cookies of this browser: its session continues with a new token, and it is the only one that is
    /// still remembered.
    ///
    /// An attempt counts, whether it is right or not: each change of a password costs a hash and an audit
    /// event.
    ///
    /// # Errors
    /// See [`ChangeOwnPasswordError`]; then nothing was changed.
    pub async fn change_password(
        &self,
        signed_in: &SignedIn,
        passwords: NewPassword,
        source: RequestSource,
    ) -> Result<NewCookies, ChangeOwnPasswordError> {
        let user = signed_in.user.id;
        let act = self.sources.act(Actor::User(signed_in.user.id), source);
        let bucket = ThrottleBucket::password_change(user);
        let (throttle, kind) = (&self.ports.throttle, AttemptKind::SignIn);
        if let Some(full) = throttle.count_attempt(kind, vec![bucket], act.at).await? {
            let limit = EventLimit::UncheckedCurrentPasswords(user);
            self.note_refusal(act, Action::LimitAttempts, user, limit);
            return Err(full.throttled.into());
        }
        let account = self.ports.accounts.find(&signed_in.user.username).await?;
        let Some(account) = account else {
            return Err(ChangeOwnPasswordError::WrongPassword);
        };
        let (hasher, queue) = (&self.ports.hasher, bucket.queue());
        let known = HashingQueues::Known(queue);
        let verified = hasher
            .verify(&passwords.current, &account.password_hash, known)
            .await;
        if verified.is_err() {
            throttle.give_back(kind, vec![bucket]).await?;
        }
        if !verified? {
            let limit = EventLimit::WrongCurrentPasswords(user);
            self.note_refusal(act, Action::ChangePassword, user, limit);
            return Err(ChangeOwnPasswordError::WrongPassword);
        }
        let password_hash = hasher.hash(&passwords.new, queue).await?;
        let cookies = self.browsers.cookies().await?;
        let session = SessionToken::generate(&self.sources);
        let change = PasswordChange {
            password_hash: password_hash.clone(),
            verified_against: account.password_hash,
            keep: KeptSession {
                id: signed_in.session.id,
                digest: session.digest(),
            },
        };
        let event = act.event(Action::ChangePassword, Subject::User(user));
        self.ports.accounts.change_password(user, change, event).await?;
        Ok(NewCookies {
            session,
            browser: cookies.remember(user, &password_hash, passwords.browser.as_ref(), act.at),
        })
    }

    fn note_refusal(&self, act: Act, action: Action, user: UserId, limit: EventLimit) {
        let refusal = RefusedAttempt::new(act, action, Some(user), limit);
        self.ports.refusals.push(refusal);
    }
}
