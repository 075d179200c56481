//! An invitation as it is stored.

use chrono::{DateTime, Utc};
use diesel::pg::Pg;
use diesel::prelude::{Insertable, Queryable, Selectable};
use keyward_domain::administration::ports::NewInvitation;
use keyward_domain::id::{InvitationId, MembershipId, OrganizationId};
use keyward_domain::invitation::{Invitation, InvitationEnd, Invitee};
use keyward_domain::membership::Role;
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use crate::actor;
use crate::postgres::schema::invitations;
use crate::stored_row::StoredRow;

#[derive(Queryable, Selectable)]
#[diesel(table_name = invitations, check_for_backend(Pg))]
pub(super) struct InvitationRow {
    id: Uuid,
    organization_id: Uuid,
    invitee: String,
    role: String,
    invited_by_kind: String,
    invited_by_id: Option<Uuid>,
    created_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    accepted_at: Option<DateTime<Utc>>,
    accepted_membership_id: Option<Uuid>,
    revoked_at: Option<DateTime<Utc>>,
}

impl TryFrom<InvitationRow> for Invitation {
    type Error = StorageError;

    fn try_from(row: InvitationRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("invitations", row.id);
        let end = end(&stored, &row)?;
        Ok(Self {
            id: InvitationId::from_uuid(row.id),
            organization_id: OrganizationId::from_uuid(row.organization_id),
            invitee: stored.read("invitee", Invitee::from_storage(row.invitee))?,
            role: stored.word("role", Role::from_word(&row.role))?,
            invited_by: actor::from_columns(
                &stored,
                ("invited_by_kind", &row.invited_by_kind),
                ("invited_by_id", row.invited_by_id),
            )?,
            created_at: row.created_at,
            expires_at: row.expires_at,
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
                at,
                membership_id: MembershipId::from_uuid(membership),
            }))
        }
        (None, Some(at)) => Ok(Some(InvitationEnd::Revoked { at })),
        (Some(_), Some(_)) => Err(stored.corrupt("revoked_at", "a second end".to_owned())),
    }
}

/// An invitation that has not ended, to be stored.
#[derive(Insertable)]
#[diesel(table_name = invitations)]
pub(super) struct NewInvitationRow<'a> {
    id: Uuid,
    organization_id: Uuid,
    digest: &'a [u8],
    invitee: &'a str,
    role: &'a str,
    invited_by_kind: &'a str,
    invited_by_id: Option<Uuid>,
    created_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    creation_nonce: Option<Vec<u8>>,
}

impl<'a> NewInvitationRow<'a> {
    pub(super) fn new(new: &'a NewInvitation) -> Self {
        let NewInvitation {
            invitation,
            digest,
            nonce,
        } = new;
        let (invited_by_kind, invited_by_id) = actor::to_columns(invitation.invited_by);
        Self {
            id: invitation.id.as_uuid(),
            organization_id: invitation.organization_id.as_uuid(),
            digest: digest.as_bytes(),
            invitee: invitation.invitee.as_str(),
            role: invitation.role.as_str(),
            invited_by_kind,
            invited_by_id,
            created_at: invitation.created_at,
            expires_at: invitation.expires_at,
            creation_nonce: nonce.map(|nonce| nonce.to_bytes().to_vec()),
        }
    }
}
