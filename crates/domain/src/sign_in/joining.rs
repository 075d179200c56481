//! Joining an organization with an invitation, with a new or an existing account.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::audit::{Act, Action, Actor, AuditEvent, RequestSource, Subject};
use crate::id::UserId;
use crate::invitation::{Invitation, InvitationToken};
use crate::membership::{Member, Membership};
use crate::ports::StorageError;
use crate::sign_in::account::Account;
use crate::sign_in::newcomer::Newcomer;
use crate::sign_in::password::PasswordHasher;
use crate::sign_in::ports::{
    AcceptAsNewcomerError, AcceptAsUserError, AccountStore, AttemptKind, OpenInvitations, PendingInvitation,
    Throttle,
};
use crate::sign_in::throttle::ThrottleBucket;
use crate::sources::Sources;
use crate::user::User;

pub use crate::sign_in::newcomer::NewcomerChoices;

/// The use cases of the user of an invitation's link.
#[derive(Clone)]
pub struct Joining {
    ports: JoiningPorts,
    sources: Sources,
}

/// The ports that [`Joining`] uses.
#[derive(Clone)]
pub struct JoiningPorts {
    /// The open invitations, to find and accept one.
    pub invitations: Arc<dyn OpenInvitations>,
    /// The accounts of existing users, with their password hashes.
    pub accounts: Arc<dyn AccountStore>,
    /// Counts attempts at passwords.
    pub throttle: Arc<dyn Throttle>,
    /// Hashes passwords, a bounded number at a time.
    pub hasher: Arc<dyn PasswordHasher>,
}

impl Joining {
    /// The use cases over these ports.
    #[must_use]
    pub fn new(ports: JoiningPorts, sources: Sources) -> Self {
        Self { ports, sources }
    }

    /// The invitation of a link, if it is valid now: for a signed-in user, who may be a former member, or for
    /// a visitor who is not signed in.
    pub async fn invitation(
        &self,
        token: &InvitationToken,
        visitor: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<Option<PendingInvitation>, StorageError> {
        let found = self.ports.invitations.find(&token.digest(), visitor, now).await?;
        Ok(found.filter(|open| open.invitation.is_open(now)))
    }

    /// Creates an account that is a member. An attempt with a taken username reveals that it is taken, so it
    /// counts: for the invitation, with which only few taken usernames can be found, and for the address.
    ///
    /// # Errors
    /// See [`AcceptAsNewcomerError`]; then nothing was changed.
    pub async fn join_as_newcomer(
        &self,
        token: &InvitationToken,
        choices: NewcomerChoices,
        source: RequestSource,
    ) -> Result<Member, AcceptAsNewcomerError> {
        // Checked before the expensive password hash; the store checks again in the transaction.
        let open = self.invitation(token, None, self.sources.now()).await?;
        let PendingInvitation {
            invitation,
            organization,
        } = open.ok_or(AcceptAsNewcomerError::NotOpen)?;
        let mut buckets = source
            .address
            .map(ThrottleBucket::of_newcomers_address)
            .unwrap_or_default();
        let of_invitation = ThrottleBucket::invitation(invitation.id);
        buckets.push(of_invitation);
        let (throttle, kind) = (&self.ports.throttle, AttemptKind::SignIn);
        let counted = throttle.count_attempt(kind, buckets.clone(), self.sources.now());
        if let Some(full) = counted.await? {
            return Err(full.throttled.into());
        }
        if self.ports.accounts.find(&choices.username).await?.is_some() {
            return Err(AcceptAsNewcomerError::UsernameTaken);
        }
        throttle.give_back(kind, buckets).await?;
        let (hasher, queue) = (&self.ports.hasher, of_invitation.queue());
        let password_hash = hasher.hash(&choices.password, queue).await?;
        let now = self.sources.now();
        let newcomer = Newcomer::new(&self.sources, now, choices, organization.id, invitation.role);
        let Newcomer { user, membership } = newcomer;
        let act = self.act(&membership, source);
        let mut events = vec![act.event(Action::CreateUser, Subject::User(user.id))];
        events.extend(joining(&act, &invitation, &membership));
        let account = Account {
            user: user.clone(),
            password_hash,
        };
        self.ports
            .invitations
            .accept_as_newcomer(invitation.id, account, membership.clone(), events)
            .await?;
        Ok(Member {
            user,
            organization,
            membership,
        })
    }

    /// Makes a member of a user who is signed in.
    ///
    /// # Errors
    /// See [`AcceptAsUserError`]; then nothing was changed.
    pub async fn join_as_user(
        &self,
        token: &InvitationToken,
        user: &User,
        source: RequestSource,
    ) -> Result<Member, AcceptAsUserError> {
        let open = self.invitation(token, Some(user.id), self.sources.now()).await?;
        let PendingInvitation {
            invitation,
            organization,
        } = open.ok_or(AcceptAsUserError::NotOpen)?;
        let (id, now) = (self.sources.next_id(), self.sources.now());
        let membership = Membership::begin(id, organization.id, user.id, invitation.role, now);
        let act = self.act(&membership, source);
        let events = joining(&act, &invitation, &membership).to_vec();
        self.ports
            .invitations
            .accept_as_user(invitation.id, membership.clone(), events, act)
            .await?;
        Ok(Member {
            user: user.clone(),
            organization,
            membership,
        })
    }

    /// The actor is the user who joins, at that moment.
    fn act(&self, membership: &Membership, source: RequestSource) -> Act {
        let joiner = Actor::User(membership.user_id);
        self.sources
            .act_at(membership.joined_at, joiner, source)
            .within(membership.organization_id)
    }
}

/// The events for a membership that begins with an invitation.
fn joining(act: &Act, invitation: &Invitation, membership: &Membership) -> [AuditEvent; 2] {
    let member = Subject::Membership(membership.id);
    [
        act.event_with(
            Action::AcceptInvitation,
            Subject::Invitation(invitation.id),
            member,
        ),
        act.event(Action::CreateMembership, member),
    ]
}
