//! Open invitations: how many a user and others have made, and the end of a user's when they are no longer an owner.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::dsl::{count, exists, not};
use diesel::prelude::{
    AggregateExpressionMethods, BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl,
};
use keyward_domain::administration::ports::OpenInvitationCounts;
use keyward_domain::audit::{Act, Actor, AuditEvent};
use keyward_domain::id::{InvitationId, OrganizationId, UserId};
use keyward_domain::invitation::Invitation;
use uuid::Uuid;

use super::dialect::{Connection, Pipelined, RunQueryDsl, prepared_once};
use super::locked_member::LockedMember;
use super::schema::{invitations, memberships};
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};
use crate::limit::at_most;

/// The invitations that are open at a moment.
macro_rules! open {
    ($at:expr) => {
        invitations::table
            .filter(invitations::accepted_at.is_null())
            .filter(invitations::revoked_at.is_null())
            .filter(invitations::expires_at.gt(StoredMoment::from($at)))
    };
}

/// The invitations that were revoked, by organization and inviter.
pub(crate) struct RevokedInvitations(BTreeMap<(Uuid, Uuid), BTreeSet<InvitationId>>);

impl RevokedInvitations {
    /// The events of those that this member had made, which are written once.
    pub(crate) fn events_of(&mut self, member: &LockedMember, act: &Act) -> Vec<AuditEvent> {
        let invitations = self.0.remove(&member.as_inviter()).unwrap_or_default();
        invitations
            .into_iter()
            .map(|id| act.invitation_revoked(id))
            .collect()
    }
}

/// Revokes these members' open invitations, in one statement; the caller writes the events. MUST be called
/// under the locks of their organizations, under which invitations are also created and accepted.
pub(crate) async fn revoke_invitations_of(
    mut connection: Pipelined<'_>,
    members: &[LockedMember],
    at: DateTime<Utc>,
) -> QueryResult<RevokedInvitations> {
    let here: BTreeSet<Uuid> = members.iter().map(|member| member.as_inviter().0).collect();
    // An invitation has an inviter's identifier only if a user made it (`invitations_invited_by_id_check`).
    let is_by_one_of_them = exists(
        memberships::table
            .filter(memberships::id.eq_any(members.iter().map(|member| member.id).collect::<Vec<_>>()))
            .filter(memberships::organization_id.eq(invitations::organization_id))
            .filter(memberships::user_id.nullable().eq(invitations::invited_by_id)),
    );
    let open = open!(at)
        .filter(invitations::organization_id.eq_any(here.into_iter().map(StoredId).collect::<Vec<_>>()))
        .filter(is_by_one_of_them);
    let update = diesel::update(open)
        .set(invitations::revoked_at.eq(StoredMoment::from(at)))
        .returning((
            invitations::id,
            invitations::organization_id,
            invitations::invited_by_id,
        ));
    let rows: Vec<(StoredId, StoredId, Option<StoredId>)> =
        prepared_once(update).get_results(&mut connection).await?;
    let mut revoked: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (id, organization, inviter) in rows {
        let inviter = inviter.map(|inviter| (organization.0, inviter.0));
        if let Some(inviter) = inviter {
            revoked
                .entry(inviter)
                .or_default()
                .insert(InvitationId::from_uuid(id.0));
        }
    }
    Ok(RevokedInvitations(revoked))
}

/// Whether an organization has as many open invitations as it may.
pub(crate) async fn is_limit_reached(
    connection: &mut Connection,
    organization: OrganizationId,
    at: DateTime<Utc>,
) -> QueryResult<bool> {
    let open: i64 = open!(at)
        .filter(invitations::organization_id.eq(StoredId(organization.as_uuid())))
        .count()
        .get_result(connection)
        .await?;
    Ok(open >= at_most(Invitation::MAX_OPEN))
}

pub(crate) async fn count_open(
    connection: &mut Connection,
    organization: OrganizationId,
    user: UserId,
    at: DateTime<Utc>,
) -> Result<OpenInvitationCounts, Abort<Infallible>> {
    let by = Actor::User(user);
    let (kind, id) = (by.kind(), by.id());
    let has_id = invitations::invited_by_id.eq(id.map(StoredId)).assume_not_null();
    let is_by_user = invitations::invited_by_kind.eq(kind).and(has_id);
    let (by_user, by_others): (i64, i64) = open!(at)
        .filter(invitations::organization_id.eq(StoredId(organization.as_uuid())))
        .select((
            count(invitations::id).aggregate_filter(is_by_user),
            count(invitations::id).aggregate_filter(not(is_by_user)),
        ))
        .get_result(connection)
        .await?;
    Ok(OpenInvitationCounts {
        by_user: by_user.unsigned_abs(),
        by_others: by_others.unsigned_abs(),
    })
}
