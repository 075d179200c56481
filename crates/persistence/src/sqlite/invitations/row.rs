//! An invitation as it is stored.

use diesel::prelude::{Insertable, Queryable, Selectable};
use diesel::sqlite::Sqlite;
use keyward_domain::administration::ports::NewInvitation;
use keyward_domain::id::{InvitationId, MembershipId, OrganizationId};
use keyward_domain::invitation::{Invitation, InvitationEnd, Invitee};
use keyward_domain::membership::Role;
use keyward_domain::ports::StorageError;

use crate::actor;
use crate::sqlite::columns::{StoredId, moment};
use crate::sqlite::schema::invitations;
use crate::stored_row::StoredRow;

#[derive(Queryable, Selectable)]
#[diesel(table_name = invitations, check_for_backend(Sqlite))]
pub(super) struct InvitationRow {
    id: StoredId,
    organization_id: StoredId,
    invitee: String,
    role: String,
    invited_by_kind: String,
    invited_by_id: Option<StoredId>,
    created_at: i64,
    expires_at: i64,
    accepted_at: Option<i64>,
    accepted_membership_id: Option<StoredId>,
    revoked_at: Option<i64>,
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
            invited_by: actor::from_columns(
                &stored,
                ("invited_by_kind", &row.invited_by_kind),
                ("invited_by_id", row.invited_by_id.map(|id| id.0)),
            )?,
            created_at: stored.read("created_at", moment(row.created_at))?,
            expires_at: stored.read("expires_at", moment(row.expires_at))?,
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
                at: stored.read("accepted_at", moment(at))?,
                membership_id: MembershipId::from_uuid(membership.0),
            }))
        }
        (None, Some(at)) => Ok(Some(InvitationEnd::Revoked {
            at: stored.read("revoked_at", moment(at))?,
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
    created_at: i64,
    expires_at: i64,
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
            id: StoredId(invitation.id.as_uuid()),
            organization_id: StoredId(invitation.organization_id.as_uuid()),
            digest: digest.as_bytes(),
            invitee: invitation.invitee.as_str(),
            role: invitation.role.as_str(),
            invited_by_kind,
            invited_by_id: invited_by_id.map(StoredId),
            created_at: invitation.created_at.timestamp_millis(),
            expires_at: invitation.expires_at.timestamp_millis(),
            creation_nonce: nonce.map(|nonce| nonce.to_bytes().to_vec()),
        }
    }
}
