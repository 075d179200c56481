//! Finding and listing invitations.

use std::convert::Infallible;

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use keyward_domain::id::{InvitationId, OrganizationId, UserId};
use keyward_domain::invitation::{Invitation, InvitationDigest};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::OpenInvitation;

use super::row::InvitationRow;
use super::stays::stays_of;
use crate::abort::Abort;
use crate::limit::one_more;
use crate::sqlite::authority::may_administer;
use crate::sqlite::columns::StoredId;
use crate::sqlite::people::OrganizationRow;
use crate::sqlite::schema::{invitations, organizations};

pub(super) fn pending(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    page: PageRequest<InvitationId>,
) -> Result<Page<Invitation, InvitationId>, Abort<Infallible>> {
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
    let rows: Vec<InvitationRow> = query.load(connection)?;
    let pending: Result<Vec<Invitation>, StorageError> = rows.into_iter().map(Invitation::try_from).collect();
    Ok(Page::from_one_more(pending?, page.size, |invitation| {
        invitation.id
    }))
}

pub(super) fn find(
    connection: &mut SqliteConnection,
    digest: InvitationDigest,
    visitor: Option<UserId>,
) -> Result<Option<OpenInvitation>, Abort<Infallible>> {
    let row: Option<(InvitationRow, OrganizationRow)> = invitations::table
        .inner_join(organizations::table)
        .filter(invitations::digest.eq(digest.as_bytes().as_slice()))
        .filter(invitations::accepted_at.is_null())
        .filter(invitations::revoked_at.is_null())
        .select((InvitationRow::as_select(), OrganizationRow::as_select()))
        .get_result(connection)
        .optional()?;
    let Some((invitation, organization)) = row else {
        return Ok(None);
    };
    let invitation = Invitation::try_from(invitation)?;
    if !may_administer(connection, invitation.organization_id, invitation.invited_by)? {
        return Ok(None);
    }
    if let Some(visitor) = visitor {
        let stays = stays_of(connection, invitation.organization_id, visitor)?;
        if stays.iter().any(|stay| invitation.precedes_end_of(stay)) {
            return Ok(None);
        }
    }
    Ok(Some(OpenInvitation {
        invitation,
        organization: organization.try_into()?,
    }))
}
