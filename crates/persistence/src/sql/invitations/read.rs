//! Finding the invitation of a link.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::id::UserId;
use keyward_domain::invitation::{Invitation, InvitationDigest};
use keyward_domain::sign_in::ports::PendingInvitation;

use super::super::authority::may_administer;
use super::super::dialect::{Connection, RunQueryDsl};
use super::super::people::OrganizationRow;
use super::super::schema::{invitations, organizations};
use super::past_memberships::memberships_of;
use super::row::InvitationRow;
use crate::abort::Abort;

pub(super) async fn find(
    connection: &mut Connection,
    digest: InvitationDigest,
    visitor: Option<UserId>,
    now: DateTime<Utc>,
) -> Result<Option<PendingInvitation>, Abort<Infallible>> {
    let row: Option<(InvitationRow, OrganizationRow)> = invitations::table
        .inner_join(organizations::table)
        .filter(invitations::digest.eq(digest.as_bytes().as_slice()))
        .filter(invitations::accepted_at.is_null())
        .filter(invitations::revoked_at.is_null())
        .select((InvitationRow::as_select(), OrganizationRow::as_select()))
        .get_result(connection)
        .await
        .optional()?;
    let Some((invitation, organization)) = row else {
        return Ok(None);
    };
    let invitation = Invitation::try_from(invitation)?;
    if !may_administer(connection, invitation.organization_id, invitation.invited_by, now).await? {
        return Ok(None);
    }
    if let Some(visitor) = visitor {
        let past_memberships = memberships_of(connection, invitation.organization_id, visitor).await?;
        if past_memberships
            .iter()
            .any(|membership| invitation.was_created_before_end(membership, now))
        {
            return Ok(None);
        }
    }
    Ok(Some(PendingInvitation {
        invitation,
        organization: organization.try_into()?,
    }))
}
