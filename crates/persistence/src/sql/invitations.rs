//! Invitations, each under the digest of its link's secret.
//!
//! An invitation is accepted once, and never after it was taken back, because both lock the organization first.

mod accept;
pub(crate) mod inviter;
mod issue;
mod read;
mod row;
mod stays;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{
    AddInvitationError, InvitationStore, NewInvitation, RevokeInvitationError,
};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{InvitationId, OrganizationId, UserId};
use keyward_domain::invitation::{Invitation, InvitationDigest};
use keyward_domain::membership::Membership;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::accounts::Account;
use keyward_domain::sign_in::ports::{
    AcceptAsNewcomerError, AcceptAsUserError, OpenInvitation, OpenInvitations,
};

use super::dialect::Store;
use crate::claim::Claim;

#[async_trait]
impl InvitationStore for Store {
    async fn add(&self, new: NewInvitation, event: AuditEvent) -> Result<(), AddInvitationError> {
        self.change(move |connection| Box::pin(issue::add(connection, new, event)))
            .await
    }

    async fn pending(
        &self,
        organization: OrganizationId,
        page: PageRequest<InvitationId>,
    ) -> Result<Page<Invitation, InvitationId>, StorageError> {
        self.read(move |connection| Box::pin(read::pending(connection, organization, page)))
            .await
    }

    async fn revoke(
        &self,
        organization: OrganizationId,
        id: InvitationId,
        event: AuditEvent,
    ) -> Result<(), RevokeInvitationError> {
        self.change_with(Claim::Revoking, move |connection| {
            Box::pin(issue::revoke(connection, organization, id, event))
        })
        .await
    }

    async fn count_open(
        &self,
        organization: OrganizationId,
        inviter: UserId,
        at: DateTime<Utc>,
    ) -> Result<u64, StorageError> {
        self.read(move |connection| Box::pin(inviter::count_open(connection, organization, inviter, at)))
            .await
    }

    async fn count_open_by_others(
        &self,
        organization: OrganizationId,
        user: UserId,
        at: DateTime<Utc>,
    ) -> Result<u64, StorageError> {
        self.read(move |connection| {
            Box::pin(inviter::count_open_by_others(connection, organization, user, at))
        })
        .await
    }
}

#[async_trait]
impl OpenInvitations for Store {
    async fn find(
        &self,
        digest: &InvitationDigest,
        visitor: Option<UserId>,
    ) -> Result<Option<OpenInvitation>, StorageError> {
        let digest = *digest;
        self.read(move |connection| Box::pin(read::find(connection, digest, visitor)))
            .await
    }

    async fn accept_as_newcomer(
        &self,
        id: InvitationId,
        account: Account,
        membership: Membership,
        events: Vec<AuditEvent>,
    ) -> Result<(), AcceptAsNewcomerError> {
        self.change(move |connection| {
            Box::pin(accept::as_newcomer(connection, id, account, membership, events))
        })
        .await
    }

    async fn accept_as_user(
        &self,
        id: InvitationId,
        membership: Membership,
        events: Vec<AuditEvent>,
    ) -> Result<(), AcceptAsUserError> {
        self.change(move |connection| Box::pin(accept::as_user(connection, id, membership, events)))
            .await
    }
}
