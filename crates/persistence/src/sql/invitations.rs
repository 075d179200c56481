//! Invitations, each under the digest of its link's secret.
//!
//! An invitation is accepted once, and never after it was revoked, because both lock the organization first.

mod accept;
mod issue;
mod past_memberships;
mod read;
mod row;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{
    AddInvitationError, InvitationStore, NewInvitation, RevokeInvitationError,
};
use keyward_domain::audit::{Act, AuditEvent};
use keyward_domain::id::{InvitationId, OrganizationId, UserId};
use keyward_domain::invitation::{Invitation, InvitationDigest};
use keyward_domain::membership::Membership;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::accounts::Account;
use keyward_domain::sign_in::ports::{
    AcceptAsNewcomerError, AcceptAsUserError, OpenInvitations, PendingInvitation,
};

use super::dialect::Store;
use crate::claim::Claim;

#[async_trait]
impl InvitationStore for Store {
    async fn add(&self, new: NewInvitation, event: AuditEvent) -> Result<(), AddInvitationError> {
        change!(self, issue::add(new, event))
    }

    async fn pending(
        &self,
        organization: OrganizationId,
        page: PageRequest<InvitationId>,
    ) -> Result<Page<Invitation, InvitationId>, StorageError> {
        read!(self, read::pending(organization, page))
    }

    async fn revoke(
        &self,
        organization: OrganizationId,
        id: InvitationId,
        event: AuditEvent,
    ) -> Result<(), RevokeInvitationError> {
        change!(self, Claim::Revoking, issue::revoke(organization, id, event))
    }

    async fn count_open(
        &self,
        organization: OrganizationId,
        inviter: UserId,
        at: DateTime<Utc>,
    ) -> Result<u64, StorageError> {
        read!(
            self,
            super::open_invitations::count_open(organization, inviter, at)
        )
    }

    async fn count_open_by_others(
        &self,
        organization: OrganizationId,
        user: UserId,
        at: DateTime<Utc>,
    ) -> Result<u64, StorageError> {
        read!(
            self,
            super::open_invitations::count_open_by_others(organization, user, at)
        )
    }
}

#[async_trait]
impl OpenInvitations for Store {
    async fn find(
        &self,
        digest: &InvitationDigest,
        visitor: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<Option<PendingInvitation>, StorageError> {
        let digest = *digest;
        read!(self, read::find(digest, visitor, now))
    }

    async fn accept_as_newcomer(
        &self,
        id: InvitationId,
        account: Account,
        membership: Membership,
        events: Vec<AuditEvent>,
    ) -> Result<(), AcceptAsNewcomerError> {
        change!(self, accept::as_newcomer(id, account, membership, events))
    }

    async fn accept_as_user(
        &self,
        id: InvitationId,
        membership: Membership,
        events: Vec<AuditEvent>,
        act: Act,
    ) -> Result<(), AcceptAsUserError> {
        change!(self, accept::as_user(id, membership, events, act))
    }
}
