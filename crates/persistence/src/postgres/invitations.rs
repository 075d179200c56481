//! Invitations, each under the digest of its link's secret.
//!
//! An invitation is accepted once, and never after it was taken back, because both lock the organization first.

mod accept;
pub(super) mod inviter;
mod issue;
mod read;
mod row;
mod stays;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{
    AcceptInvitationError, AddInvitationError, InvitationStore, Joiner, NewInvitation, OpenInvitation,
    RevokeInvitationError,
};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{InvitationId, OrganizationId, UserId};
use keyward_domain::invitation::{Invitation, InvitationDigest};
use keyward_domain::membership::Membership;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;

use super::store::PostgresStore;

#[async_trait]
impl InvitationStore for PostgresStore {
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
        self.change(move |connection| Box::pin(issue::revoke(connection, organization, id, event)))
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

    async fn find(
        &self,
        digest: &InvitationDigest,
        visitor: Option<UserId>,
    ) -> Result<Option<OpenInvitation>, StorageError> {
        let digest = *digest;
        self.read(move |connection| Box::pin(read::find(connection, digest, visitor)))
            .await
    }

    async fn accept(
        &self,
        id: InvitationId,
        joiner: Joiner,
        membership: Membership,
        events: Vec<AuditEvent>,
    ) -> Result<(), AcceptInvitationError> {
        self.change(move |connection| Box::pin(accept::accept(connection, id, joiner, membership, events)))
            .await
    }
}
