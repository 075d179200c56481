//! Joining an organization with an invitation, as somebody new or with an account that exists.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::administration::ports::{AcceptInvitationError, InvitationStore, Joiner, OpenInvitation};
use crate::audit::{Act, Action, Actor, RequestSource, Subject};
use crate::clock::Clock;
use crate::id::{IdGenerator, UserId};
use crate::invitation::InvitationToken;
use crate::membership::{Member, Membership};
use crate::ports::StorageError;
use crate::sign_in::accounts::Account;
use crate::sign_in::password::{HashingError, Password, PasswordHasher};
use crate::sign_in::ports::{AccountStore, SignInThrottle};
use crate::sign_in::throttle::{ThrottleBucket, Throttled};
use crate::user::{DisplayName, User, Username};

/// What somebody new chooses.
#[derive(Debug)]
pub struct NewcomerChoices {
    /// Their username.
    pub username: Username,
    /// Their name for people.
    pub display_name: DisplayName,
    /// Their password.
    pub password: Password,
}

/// Why nobody joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// There is no such invitation: unknown, used, taken back, expired, or from before the user left.
    #[error("the invitation does not work any more")]
    InvitationInvalid,
    /// Another user has the username.
    #[error("the username is taken")]
    UsernameTaken,
    /// The user is a member already; the invitation stays open.
    #[error("the user is a member already")]
    AlreadyMember,
    /// Too many attempts from this address.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The password could not be hashed.
    #[error(transparent)]
    Hashing(#[from] HashingError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The use cases of whoever has an invitation's link.
#[derive(Clone)]
pub struct Joining {
    ports: JoiningPorts,
    clock: Arc<dyn Clock>,
    ids: Arc<IdGenerator>,
}

/// What [`Joining`] works with.
#[derive(Clone)]
pub struct JoiningPorts {
    /// Invitations.
    pub invitations: Arc<dyn InvitationStore>,
    /// Accounts.
    pub accounts: Arc<dyn AccountStore>,
    /// The throttle, from whose buckets of addresses people sign in, too.
    pub throttle: Arc<dyn SignInThrottle>,
    /// Hashes passwords.
    pub hasher: Arc<dyn PasswordHasher>,
}

impl Joining {
    /// The use cases over these ports.
    #[must_use]
    pub fn new(ports: JoiningPorts, clock: Arc<dyn Clock>, ids: Arc<IdGenerator>) -> Self {
        Self { ports, clock, ids }
    }

    /// The invitation behind a link, if the link still works: for the visitor, who has perhaps been a member before, or
    /// for whoever is not signed in.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn invitation(
        &self,
        token: &InvitationToken,
        visitor: Option<UserId>,
    ) -> Result<Option<OpenInvitation>, StorageError> {
        let now = self.clock.now();
        let found = self.ports.invitations.find(&token.digest(), visitor).await?;
        Ok(found.filter(|open| open.invitation.is_open(now)))
    }

    /// Makes an account and a member of somebody new. Every attempt with a link that works takes from the throttle's
    /// bucket of the address, since it tells whether a username is taken.
    ///
    /// # Errors
    /// See [`JoinError`]; then nothing was changed.
    pub async fn join_as_newcomer(
        &self,
        token: &InvitationToken,
        choices: NewcomerChoices,
        source: RequestSource,
    ) -> Result<Member, JoinError> {
        // All of it before the password is hashed, which is dear; the store decides again when it counts.
        let open = self.open(token, None).await?;
        if let Some(address) = source.address {
            let bucket = ThrottleBucket::address(address);
            if let Some(throttled) = self.ports.throttle.take(bucket, self.clock.now()).await? {
                return Err(throttled.into());
            }
        }
        if self.ports.accounts.find(&choices.username).await?.is_some() {
            return Err(JoinError::UsernameTaken);
        }
        let password_hash = self.ports.hasher.hash(&choices.password).await?;
        let now = self.clock.now();
        let user = User {
            id: self.ids.next(),
            username: choices.username,
            display_name: choices.display_name,
            created_at: now,
        };
        let account = Account {
            user: user.clone(),
            password_hash,
        };
        self.accept(open, user, Joiner::Newcomer(account), now, source)
            .await
    }

    /// Makes a member of a user who is signed in.
    ///
    /// # Errors
    /// See [`JoinError`]; then nothing was changed.
    pub async fn join_as_user(
        &self,
        token: &InvitationToken,
        user: &User,
        source: RequestSource,
    ) -> Result<Member, JoinError> {
        let open = self.open(token, Some(user.id)).await?;
        let now = self.clock.now();
        self.accept(open, user.clone(), Joiner::User(user.id), now, source)
            .await
    }

    async fn open(
        &self,
        token: &InvitationToken,
        visitor: Option<UserId>,
    ) -> Result<OpenInvitation, JoinError> {
        let open = self.invitation(token, visitor).await?;
        open.ok_or(JoinError::InvitationInvalid)
    }

    async fn accept(
        &self,
        open: OpenInvitation,
        user: User,
        joiner: Joiner,
        now: DateTime<Utc>,
        source: RequestSource,
    ) -> Result<Member, JoinError> {
        let OpenInvitation {
            invitation,
            organization,
        } = open;
        let membership = Membership {
            id: self.ids.next(),
            organization_id: organization.id,
            user_id: user.id,
            role: invitation.role,
            joined_at: now,
            ended_at: None,
        };
        let act = self.act(user.id, now, source).within(organization.id);
        let member = Subject::Membership(membership.id);
        let mut events = Vec::new();
        if matches!(joiner, Joiner::Newcomer(_)) {
            events.push(act.event(Action::CreateUser, Subject::User(user.id)));
        }
        events.push(act.event_with(
            Action::AcceptInvitation,
            Subject::Invitation(invitation.id),
            member,
        ));
        events.push(act.event(Action::CreateMembership, member));
        match self
            .ports
            .invitations
            .accept(invitation.id, joiner, membership.clone(), events)
            .await
        {
            Ok(()) => Ok(Member {
                user,
                organization,
                membership,
            }),
            Err(AcceptInvitationError::NotOpen) => Err(JoinError::InvitationInvalid),
            Err(AcceptInvitationError::UsernameTaken) => Err(JoinError::UsernameTaken),
            Err(AcceptInvitationError::AlreadyMember) => Err(JoinError::AlreadyMember),
            Err(AcceptInvitationError::Storage(error)) => Err(error.into()),
        }
    }

    fn act(&self, user: UserId, at: DateTime<Utc>, source: RequestSource) -> Act {
        Act::new(&self.ids, at, Actor::User(user), source)
    }
}
