//! Signing in to the console and out of it, and who is signed in.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::audit::{Action, Actor, RequestSource, Subject};
use crate::ports::{Memberships, StorageError};
use crate::sign_in::UserAgent;
use crate::sign_in::account::Account;
use crate::sign_in::browser_memory::BrowserMemory;
use crate::sign_in::password::{HashingError, HashingQueues, Password, PasswordHasher};
use crate::sign_in::ports::{
    AccountStore, AttemptKind, FullBucket, InstallationStore, NewSession, SessionStore, Throttle,
};
use crate::sign_in::refusals::{RefusalQueue, RefusedAttempt, organizations_of};
use crate::sign_in::remembered_browser::BrowserToken;
use crate::sign_in::seen_sessions::SeenSessions;
use crate::sign_in::session::{Session, SessionToken, SignedIn};
use crate::sign_in::throttle::{CountedAccount, EventLimit, ThrottleBucket};
use crate::sources::Sources;
use crate::user::Username;

pub use crate::sign_in::ports::SignInError;

/// An attempt to sign in.
pub struct SignInAttempt<'a> {
    /// The username as typed. People add spaces and capitals, which no username has.
    pub username: &'a str,
    /// The password as typed.
    pub password: Password,
    /// The name that the browser sent.
    pub user_agent: Option<UserAgent>,
    /// The session of the same browser, which ends with this sign-in.
    pub previous: Option<SessionToken>,
    /// The cookie that names users who signed in there before.
    pub browser: Option<BrowserToken>,
    /// The request, by whose address attempts are counted.
    pub source: RequestSource,
}

/// The cookies for the browser after signing in.
#[derive(Debug)]
pub struct NewCookies {
    /// The token of the new session.
    pub session: SessionToken,
    /// Proves later that the user signed in there before. `None` if the key for it could not be read.
    pub browser: Option<BrowserToken>,
}

/// Signs people in and out.
#[derive(Clone)]
pub struct SignIn {
    ports: SignInPorts,
    browsers: BrowserMemory,
    sources: Sources,
}

/// The ports that [`SignIn`] uses.
#[derive(Clone)]
pub struct SignInPorts {
    /// The accounts, with their password hashes.
    pub accounts: Arc<dyn AccountStore>,
    /// The sessions, to start one and to end the one that it replaces.
    pub sessions: Arc<dyn SessionStore>,
    /// The key of remembered browsers.
    pub installation: Arc<dyn InstallationStore>,
    /// The throttle, which counts attempts by account and address.
    pub throttle: Arc<dyn Throttle>,
    /// The queue of refusals to be recorded.
    pub refusals: Arc<dyn RefusalQueue>,
    /// In which organizations' logs people's sign-ins are recorded.
    pub memberships: Arc<dyn Memberships>,
    /// Checks passwords, a bounded number at a time.
    pub hasher: Arc<dyn PasswordHasher>,
    /// The queue of times when sessions were last seen, which are written later.
    pub seen: Arc<SeenSessions>,
}

/// An attempt that may be checked.
struct CountedAttempt {
    kind: AttemptKind,
    /// The buckets in which it was counted.
    buckets: Vec<ThrottleBucket>,
    queues: HashingQueues,
}

impl SignIn {
    /// The use cases over these ports.
    #[must_use]
    pub fn new(ports: SignInPorts, sources: Sources) -> Self {
        Self {
            browsers: BrowserMemory::new(Arc::clone(&ports.installation), sources.clone()),
            ports,
            sources,
        }
    }

    /// Signs a user in.
    ///
    /// Every attempt is counted before the password is checked, so that concurrent attempts do not get more
    /// guesses; it is given back if the password was right or could not be checked. A right password counts
    /// for the user, whose sign-ins have a limit of their own, unless the storage certainly started no
    /// session.
    ///
    /// # Errors
    /// See [`SignInError`]. An unknown username and a wrong password take the same time, are counted alike
    /// and answer alike; only the audit log has the account that was tried, if there is one, and the answer
    /// does not wait for it.
    pub async fn sign_in(&self, attempt: SignInAttempt<'_>) -> Result<NewCookies, SignInError> {
        let now = self.sources.now();
        let typed = attempt.username.trim().to_ascii_lowercase();
        let account = match Username::parse(&typed) {
            Ok(username) => self.ports.accounts.find(&username).await?,
            Err(_) => None,
        };
        let counted = self.count(&typed, account.as_ref(), &attempt, now).await?;
        let verified = match self
            .verify(&attempt.password, account.as_ref(), counted.queues)
            .await
        {
            Ok(verified) => verified,
            Err(error) => {
                let CountedAttempt { kind, buckets, .. } = counted;
                self.ports.throttle.give_back(kind, buckets).await?;
                return Err(error.into());
            }
        };
        let user = account.as_ref().map(|account| account.user.id);
        let refusal = self.sources.act_at(now, Actor::Anonymous, attempt.source.clone());
        if let Some(account) = account.filter(|_| verified) {
            // Only a client that knows the password gets here, so this does not reveal to others that the
            // user exists. The attempt stays counted, so that repetitions are soon refused before the
            // password is checked.
            let bucket = ThrottleBucket::sign_ins_of(account.user.id);
            let (throttle, kind) = (&self.ports.throttle, AttemptKind::SignIn);
            if let Some(full) = throttle.count_attempt(kind, vec![bucket], now).await? {
                let limit = EventLimit::UncheckedAttempts(account.user.id);
                self.ports
                    .refusals
                    .push(RefusedAttempt::new(refusal, Action::LimitAttempts, user, limit));
                return Err(full.throttled.into());
            }
            throttle.give_back(kind, counted.buckets).await?;
            match self.start_session(account, now, attempt).await {
                Ok(cookies) => return Ok(cookies),
                Err(SignInError::WrongCredentials) => {}
                Err(error) => {
                    if matches!(error, SignInError::Storage(StorageError::Unavailable(_))) {
                        // If this fails, too, the first error says enough.
                        let _ = throttle.give_back(kind, vec![bucket]).await;
                    }
                    return Err(error);
                }
            }
        }
        // The typed username is not recorded, because people type passwords into the wrong field.
        let limit = user.map_or(EventLimit::UnknownUsername, EventLimit::WrongPasswords);
        self.ports
            .refusals
            .push(RefusedAttempt::new(refusal, Action::SignIn, user, limit));
        Err(SignInError::WrongCredentials)
    }

    async fn verify(
        &self,
        password: &Password,
        account: Option<&Account>,
        queues: HashingQueues,
    ) -> Result<bool, HashingError> {
        let Some(account) = account else {
            self.ports.hasher.verify_dummy(password, queues).await?;
            return Ok(false);
        };
        self.ports
            .hasher
            .verify(password, &account.password_hash, queues)
            .await
    }

    /// Counts the attempt in all buckets that it concerns.
    async fn count(
        &self,
        typed: &str,
        account: Option<&Account>,
        attempt: &SignInAttempt<'_>,
        now: DateTime<Utc>,
    ) -> Result<CountedAttempt, SignInError> {
        let counted = CountedAccount::new(typed, account.map(|account| &account.password_hash));
        let address = attempt.source.address;
        let recognized = self.browsers.recognize(attempt.browser.as_ref(), account, now);
        let browser = recognized.await?;
        let attempt_to_count = match browser {
            Some(browser) => CountedAttempt {
                kind: AttemptKind::SignIn,
                queues: counted.queues_of_remembered(),
                buckets: ThrottleBucket::of_remembered(counted, browser),
            },
            None => CountedAttempt {
                kind: AttemptKind::StrangersSignIn,
                queues: counted.queues_of_stranger(address),
                buckets: ThrottleBucket::of_attempt(counted, address),
            },
        };
        let CountedAttempt { kind, buckets, .. } = &attempt_to_count;
        let throttle = &self.ports.throttle;
        let Some(FullBucket { bucket, throttled }) =
            throttle.count_attempt(*kind, buckets.clone(), now).await?
        else {
            return Ok(attempt_to_count);
        };
        let act = self.sources.act_at(now, Actor::Anonymous, attempt.source.clone());
        let of_address = address.map(ThrottleBucket::of_address).unwrap_or_default();
        let (user, limit) = if of_address.contains(&bucket) {
            (None, EventLimit::UncheckedFrom(bucket))
        } else {
            let user = account.map(|account| account.user.id);
            let limit = user.map_or(EventLimit::UnknownUsername, EventLimit::UncheckedAttempts);
            (user, limit)
        };
        self.ports
            .refusals
            .push(RefusedAttempt::new(act, Action::LimitAttempts, user, limit));
        Err(throttled.into())
    }

    async fn start_session(
        &self,
        account: Account,
        now: DateTime<Utc>,
        attempt: SignInAttempt<'_>,
    ) -> Result<NewCookies, SignInError> {
        let SignInAttempt {
            user_agent,
            previous,
            browser,
            source,
            ..
        } = attempt;
        let token = SessionToken::generate(&self.sources);
        let user_id = account.user.id;
        let session = Session {
            id: self.sources.next_id(),
            user_id,
            started_at: now,
            last_seen_at: now,
            started_from: source.address,
            user_agent,
        };
        let act = self.sources.act_at(now, Actor::User(user_id), source);
        let organizations = organizations_of(&*self.ports.memberships, user_id, now).await?;
        let subject = Subject::Session(session.id);
        let logs = act.for_organizations(organizations);
        let events = logs
            .iter()
            .map(|act| act.event(Action::SignIn, subject))
            .collect();
        let new = NewSession {
            session,
            digest: token.digest(),
            verified_against: account.password_hash.clone(),
            replaces: previous.map(|token| token.digest()),
            act,
        };
        let cookies = self.browsers.cookies().await?;
        self.ports.sessions.start(new, events).await?;
        Ok(NewCookies {
            session: token,
            browser: cookies.remember(user_id, &account.password_hash, browser.as_ref(), now),
        })
    }

    /// The user of a session cookie, if it is still valid.
    pub async fn signed_in(&self, token: &SessionToken) -> Result<Option<SignedIn>, StorageError> {
        let now = self.sources.now();
        let found = self.ports.sessions.find(&token.digest()).await?;
        Ok(found.filter(|found| found.session.is_live(now)))
    }

    /// Notes that a user was seen, if that is [due](Session::LAST_SEEN_INTERVAL). It is written beside the
    /// request.
    pub fn note_seen(&self, signed_in: &SignedIn) {
        let now = self.sources.now();
        if signed_in.session.needs_last_seen_update(now) {
            self.ports.seen.note(signed_in.session.id, now);
        }
    }

    /// Ends a session. One that has ended already stays so.
    pub async fn sign_out(&self, signed_in: &SignedIn, source: RequestSource) -> Result<(), StorageError> {
        let act = self.sources.act(Actor::User(signed_in.user.id), source);
        let event = act.event(Action::SignOut, Subject::Session(signed_in.session.id));
        let (user, session) = (signed_in.user.id, signed_in.session.id);
        self.ports.sessions.end(user, session, event).await?;
        Ok(())
    }
}
