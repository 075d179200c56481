//! Invitations, each under the digest of its link's secret.
//!
//! An invitation is accepted once, and never after it was revoked, because both lock the organization first.

mod accept;
mod change;
mod past_memberships;
mod read;
mod row;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::{
    AddInvitationError, InvitationStore, NewInvitation, OpenInvitationCounts, RevokeInvitationError,
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

use super::dialect::{RunQueryDsl, Store};
use super::people::add_user;
use super::schema::invitations;
use crate::abort::Abort;
use crate::claim::Claim;
use crate::columns::StoredId;
use crate::limit::one_more;
use row::InvitationRow;

#[async_trait]
impl InvitationStore for Store {
    async fn add(&self, new: NewInvitation, act: Act) -> Result<(), AddInvitationError> {
        change!(self, change::add(new, act))
    }

    async fn pending(
        &self,
        organization: OrganizationId,
        page: PageRequest<InvitationId>,
    ) -> Result<Page<Invitation, InvitationId>, StorageError> {
        read!(self, |connection| {
            let mut query = invitations::table
                .filter(invitations::organization_id.eq(StoredId(organization.as_uuid())))
                .filter(invitations::accepted_at.is_null())
                .filter(invitations::revoked_at.is_null())
                .order(invitations::id.desc())
                .limit(one_more(page.size))
                .select(InvitationRow::as_select())
                .into_boxed();
            if let Some(after) = page.after {
                query = query.filter(invitations::id.lt(StoredId(after.as_uuid())));
            }
            let rows: Vec<InvitationRow> = query.load(connection).await?;
            let pending: Result<Vec<Invitation>, StorageError> =
                rows.into_iter().map(Invitation::try_from).collect();
            Ok(Page::from_one_more(pending?, page.size, |invitation| {
                invitation.id
            }))
        })
    }

    async fn revoke(
        &self,
        organization: OrganizationId,
        id: InvitationId,
        act: Act,
    ) -> Result<(), RevokeInvitationError> {
        change!(self, Claim::Revoking, change::revoke(organization, id, act))
    }

    async fn count_open(
        &self,
        organization: OrganizationId,
        user: UserId,
        at: DateTime<Utc>,
    ) -> Result<OpenInvitationCounts, StorageError> {
        read!(self, super::open_invitations::count_open(organization, user, at))
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
        change!(self, |connection| {
            if accept::open_for(connection, id, &membership).await?.is_none() {
                return Err(Abort::Refused(AcceptAsNewcomerError::NotOpen));
            }
            add_user(connection, &account, AcceptAsNewcomerError::UsernameTaken).await?;
            accept::begin(connection, id, membership, events).await?;
            Ok(())
        })
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
