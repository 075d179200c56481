//! The storage ports of sign-in. As in [`crate::ports`], each method is one atomic operation: the change and
//! its audit events commit together or not at all, even if the caller stops waiting.
//!
//! Each operation has one error, which a use case and the port below it share: a store refuses only with what
//! its method names, or fails.

mod open_invitations;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::audit::{Act, AuditEvent};
use crate::id::{SessionId, UserId};
use crate::organization::{Organization, Slug};
use crate::ports::StorageError;
use crate::rate::Throttled;
use crate::sign_in::account::Account;
use crate::sign_in::password::{HashingError, PasswordHash};
use crate::sign_in::remembered_browser::BrowserKey;
use crate::sign_in::session::{Session, SessionDigest, SignedIn};
use crate::sign_in::setup_link::SetupDigest;
use crate::sign_in::throttle::ThrottleBucket;
use crate::user::Username;

// Types of the ports, defined beside what they describe.
pub use crate::invitation::PendingInvitation;
pub use crate::sign_in::account::{FirstOwner, NewAccount, NewOrganization, PasswordChange};
pub use crate::sign_in::session::NewSession;
pub use crate::sign_in::setup_link::SetupProof;
pub use crate::sign_in::throttle::{AttemptKind, FullBucket};

#[cfg(feature = "testing")]
pub use open_invitations::MockOpenInvitations;
pub use open_invitations::{AcceptAsNewcomerError, AcceptAsUserError, OpenInvitations};

/// Keeps organizations, users and the hashes of their passwords.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Finds a user in the whole installation; `None` if no user has the username.
    async fn find(&self, username: &Username) -> Result<Option<Account>, StorageError>;

    /// Finds an organization by its slug; `None` if none has it.
    async fn find_organization(&self, slug: &Slug) -> Result<Option<Organization>, StorageError>;

    /// All organizations, by name.
    async fn organizations(&self) -> Result<Vec<Organization>, StorageError>;

    /// Adds an organization with an existing user as its first owner. Returns the slug it got: the first of
    /// the [candidates](Slug::candidates) that no organization has. Of concurrent additions that would like
    /// the same slug every one MUST succeed.
    async fn add_organization(
        &self,
        new: NewOrganization,
        events: Vec<AuditEvent>,
    ) -> Result<Slug, StorageError>;

    /// Adds a user with a membership. Of two concurrent additions of one username exactly one MUST succeed;
    /// the other is refused with [`CreateAccountError::UsernameTaken`].
    async fn add(&self, new: NewAccount, events: Vec<AuditEvent>) -> Result<(), CreateAccountError>;

    /// Replaces a user's password; else [`ResetPasswordError::UserUnknown`]. MUST end all the user's sessions
    /// in the same transaction.
    async fn replace_password(
        &self,
        user: UserId,
        password_hash: PasswordHash,
        event: AuditEvent,
    ) -> Result<(), ResetPasswordError>;

    /// Changes a user's password for themselves. In the same transaction, MUST end all their other sessions and
    /// give [`PasswordChange::keep`] its new token, if that has not ended.
    ///
    /// In that transaction, and so that no concurrent replacement comes between, it MUST check that the
    /// password hash still is [`PasswordChange::verified_against`]; else
    /// [`ChangeOwnPasswordError::WrongPassword`].
    async fn change_password(
        &self,
        user: UserId,
        change: PasswordChange,
        event: AuditEvent,
    ) -> Result<(), ChangeOwnPasswordError>;
}

/// Why a user's own password was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeOwnPasswordError {
    /// That is not their current password.
    #[error("that is not the current password")]
    WrongPassword,
    /// Too many wrong passwords were tried.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// A password could not be checked or hashed.
    #[error(transparent)]
    Hashing(#[from] HashingError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why no account was created.
#[derive(Debug, thiserror::Error)]
pub enum CreateAccountError {
    /// Another user has the username.
    #[error("the username is taken")]
    UsernameTaken,
    /// There is no such organization.
    #[error("there is no such organization")]
    OrganizationUnknown,
    /// The password could not be hashed.
    #[error(transparent)]
    Hashing(#[from] HashingError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a password was not replaced.
#[derive(Debug, thiserror::Error)]
pub enum ResetPasswordError {
    /// There is no such user.
    #[error("there is no such user")]
    UserUnknown,
    /// The password could not be hashed.
    #[error(transparent)]
    Hashing(#[from] HashingError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Stores console sessions.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Starts a session and ends the one it replaces, if any, even another user's. If it
    /// [was live](Session::is_live) at the moment of [`NewSession::act`], MUST write
    /// [`Act::end_of_replaced`].
    ///
    /// Of the user's sessions, MUST keep the latest [`Session::MAX_PER_USER`], the new one included, also if
    /// several start concurrently. MUST end the others, the oldest first, at most
    /// [`Session::MAX_ENDED_AT_ONCE`]; for each that it ends and that was live, MUST write an event of
    /// [`Action::EndSession`].
    ///
    /// In the same transaction, and so that no concurrent [`AccountStore::replace_password`] comes between,
    /// it MUST check that the user's password hash still is [`NewSession::verified_against`]; else
    /// [`SignInError::WrongCredentials`].
    ///
    /// [`Action::EndSession`]: crate::audit::Action::EndSession
    async fn start(&self, new: NewSession, events: Vec<AuditEvent>) -> Result<(), SignInError>;

    /// The session whose token has this digest and its user, unless it was ended. Whether it has expired is
    /// for the caller to say.
    async fn find(&self, digest: &SessionDigest) -> Result<Option<SignedIn>, StorageError>;

    /// The user's sessions that were not ended, the latest first. Whether they have expired is for the caller
    /// to say.
    async fn list(&self, user: UserId) -> Result<Vec<Session>, StorageError>;

    /// Notes when a session was last seen; only forward.
    async fn seen(&self, session: SessionId, at: DateTime<Utc>) -> Result<(), StorageError>;

    /// Ends a session of the user. MUST treat another user's exactly like one that has ended already, and
    /// MUST write the event if the session [was live](Session::is_live) at the event's moment, and only then.
    /// Returns whether it was.
    async fn end(&self, user: UserId, session: SessionId, event: AuditEvent) -> Result<bool, StorageError>;

    /// Ends all of a user's sessions but the acting one; none if that has itself ended, so that of sessions
    /// that end each other concurrently one MUST stay. MUST write an event of [`Action::EndSession`] for each
    /// of them that [was live](Session::is_live) at the moment of the act. Returns how many were.
    ///
    /// [`Action::EndSession`]: crate::audit::Action::EndSession
    async fn end_others(&self, user: UserId, keep: SessionId, act: Act) -> Result<usize, StorageError>;
}

/// Why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The username or the password is wrong; the response does not say which.
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

/// Counts attempts to sign in and other acts in buckets, for all replicas together.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Throttle: Send + Sync {
    /// Takes one attempt from each of the buckets, as [`ThrottleBucket::count_attempt`] says, in their order;
    /// or, if one of them is full, from none, and returns the first that is. Of concurrent attempts MUST NOT
    /// let more pass than one after the other would. MUST NOT use space that is kept for signing in if an owner
    /// changes something.
    async fn count_attempt(
        &self,
        kind: AttemptKind,
        buckets: Vec<ThrottleBucket>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError>;

    /// Gives one attempt of this kind back to each of the buckets, as [`ThrottleBucket::give_back`] says: it
    /// was none to count.
    async fn give_back(&self, kind: AttemptKind, buckets: Vec<ThrottleBucket>) -> Result<(), StorageError>;
}

/// Writes events that record no change. Anyone can cause them, so their number is limited.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait LimitedAuditLog: Send + Sync {
    /// Takes from each of the buckets and writes the events, in one transaction; or neither, if one of the
    /// buckets is full. Returns the first that is full: with none, they were written.
    async fn record_within(
        &self,
        limits: Vec<ThrottleBucket>,
        events: Vec<AuditEvent>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError>;
}

/// Keeps what is true of the installation as a whole.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait InstallationStore: Send + Sync {
    /// The key that signs the cookies of remembered browsers. If there is no key yet, MUST keep the
    /// candidate; of concurrent calls every one MUST return the same key.
    async fn browser_key(&self, candidate: BrowserKey) -> Result<BrowserKey, StorageError>;

    /// Whether the first organization exists.
    async fn is_set_up(&self) -> Result<bool, StorageError>;

    /// Replaces the setup link, of which there is at most one.
    async fn replace_setup_link(
        &self,
        digest: SetupDigest,
        expires_at: DateTime<Utc>,
        event: AuditEvent,
    ) -> Result<(), ReplaceSetupLinkError>;

    /// Whether this is the setup link and has not expired: it works before `expires_at`, and not at it.
    async fn setup_link_works(&self, digest: &SetupDigest, now: DateTime<Utc>) -> Result<bool, StorageError>;

    /// Creates the first organization with its owner, and removes the link. Of any number of concurrent calls
    /// exactly one MUST succeed. MUST check [`CompleteSetupError::AlreadySetUp`] before
    /// [`CompleteSetupError::LinkInvalid`].
    async fn set_up(
        &self,
        proof: SetupProof,
        first_owner: FirstOwner,
        events: Vec<AuditEvent>,
    ) -> Result<(), CompleteSetupError>;
}

/// Why there is no new setup link.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceSetupLinkError {
    /// The first run is completed.
    #[error("Keyward is already set up")]
    AlreadySetUp,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why the first run was not completed.
#[derive(Debug, thiserror::Error)]
pub enum CompleteSetupError {
    /// There is no such link: unknown, replaced by a newer one, or over 24 hours old.
    #[error("the setup link is no longer valid")]
    LinkInvalid,
    /// The setup was completed before.
    #[error("Keyward is already set up")]
    AlreadySetUp,
    /// The password could not be hashed.
    #[error(transparent)]
    Hashing(#[from] HashingError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
