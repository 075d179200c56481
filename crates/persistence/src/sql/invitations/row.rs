//! An invitation as it is stored.

use diesel::prelude::{Insertable, Queryable, Selectable};
use keyward_domain::administration::ports::NewInvitation;
use keyward_domain::audit::Actor;
use keyward_domain::id::{InvitationId, MembershipId, OrganizationId};
use keyward_domain::invitation::{Invitation, InvitationEnd, Invitee};
use keyward_domain::membership::Role;
use keyward_domain::ports::StorageError;

use super::super::dialect::Database;
use super::super::schema::invitations;
use crate::columns::{StoredId, StoredMoment};
use crate::stored_row::StoredRow;

#[derive(Queryable, Selectable)]
#[diesel(table_name = invitations, check_for_backend(Database))]
pub(super) struct InvitationRow {
    id: StoredId,
    organization_id: StoredId,
    invitee: String,
    role: String,
    invited_by_kind: String,
    invited_by_id: Option<StoredId>,
    created_at: StoredMoment,
    expires_at: StoredMoment,
    accepted_at: Option<StoredMoment>,
    accepted_membership_id: Option<StoredId>,
    revoked_at: Option<StoredMoment>,
}

impl TryFrom<InvitationRow> for Invitation {
    type Error = StorageError;

    fn try_from(row: InvitationRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("invitations", row.id.0);
        let end = end(&stored, &row)?;
        Ok(Self {
            id: InvitationId::from_uuid(row.id.0),
            organization_id: OrganizationId::from_uuid(row.organization_id.0),
            invitee: stored.read("invitee", Invitee::from_storage(row.invitee))?,
            role: stored.word("role", Role::from_word(&row.role))?,
            invited_by: stored.reference(
                Actor::from_kind,
                ("invited_by_kind", &row.invited_by_kind),
                ("invited_by_id", row.invited_by_id.map(|id| id.0)),
            )?,
            created_at: stored.moment("created_at", row.created_at)?,
            expires_at: stored.moment("expires_at", row.expires_at)?,
            end,
        })
    }
}

fn end(stored: &StoredRow, row: &InvitationRow) -> Result<Option<InvitationEnd>, StorageError> {
    match (row.accepted_at, row.revoked_at) {
        (None, None) => stored.nothing_unless("accepted_at", row.accepted_membership_id.is_some()),
        (Some(at), None) => {
            let membership = stored.present("accepted_membership_id", row.accepted_membership_id)?;
            Ok(Some(InvitationEnd::Accepted {
                at: stored.moment("accepted_at", at)?,
                membership_id: MembershipId::from_uuid(membership.0),
            }))
        }
        (None, Some(at)) => Ok(Some(InvitationEnd::Revoked {
            at: stored.moment("revoked_at", at)?,
        })),
        (Some(_), Some(_)) => Err(stored.corrupt("revoked_at", "a second end".to_owned())),
    }
}

/// An invitation that has not ended, to be stored.
#[derive(Insertable)]
#[diesel(table_name = invitations)]
pub(super) struct NewInvitationRow<'a> {
    id: StoredId,
    organization_id: StoredId,
    digest: &'a [u8],
    invitee: &'a str,
    role: &'a str,
    invited_by_kind: &'a str,
    invited_by_id: Option<StoredId>,
    created_at: StoredMoment,
    expires_at: StoredMoment,
    idempotency_key: Option<Vec<u8>>,
}

impl<'a> NewInvitationRow<'a> {
    pub(super) fn new(new: &'a NewInvitation) -> Self {
        let NewInvitation {
            invitation,
            digest,
            idempotency_key,
        } = new;
        let (invited_by_kind, invited_by_id) = (invitation.invited_by.kind(), invitation.invited_by.id());
        Self {
            id: StoredId(invitation.id.as_uuid()),
            organization_id: StoredId(invitation.organization_id.as_uuid()),
            digest: digest.as_bytes(),
            invitee: invitation.invitee.as_str(),
            role: invitation.role.as_str(),
            invited_by_kind,
            invited_by_id: invited_by_id.map(StoredId),
            created_at: invitation.created_at.into(),
            expires_at: invitation.expires_at.into(),
            idempotency_key: idempotency_key.map(|idempotency_key| idempotency_key.to_bytes().to_vec()),
        }
    }
}
