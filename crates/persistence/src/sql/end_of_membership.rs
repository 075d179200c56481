//! The end of a membership with all that ends with it, whether it is ended at once or its planned end has
//! come.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::audit::{Act, AuditEvent};
use keyward_domain::id::MembershipId;

use super::dialect::{Connection, Pipelined, RunQueryDsl, pipeline, prepared_once, write_events};
use super::locked_member::LockedMember;
use super::open_invitations::{RevokedInvitations, revoke_invitations_of};
use super::schema::{memberships, project_members};
use crate::columns::{StoredId, StoredMoment};

/// Takes these members out of all projects, and their open invitations back, in a constant number of
/// statements. The caller writes the events. Comes under the locks of their organizations.
pub(crate) async fn end_dependents(
    connection: Pipelined<'_>,
    members: &[LockedMember],
    at: DateTime<Utc>,
) -> QueryResult<RevokedInvitations> {
    let ((), revoked) = pipeline!(
        connection,
        leave_projects(connection, members),
        revoke_invitations_of(connection, members, at),
    );
    Ok(revoked)
}

/// Records that these planned ends have come, with the event and all consequences of each. The number of
/// statements does not depend on the number of ends. Their organizations MUST be locked, so that no other
/// transaction records them.
///
/// Only the job that records ends checks the clock. A user who ends a membership wants it to end now, so a
/// clock that is ahead ends nothing that should stay. A user who joins again needs the record: a user has at
/// most one membership of an organization without a recorded end (`memberships_live_key`), and the invitation
/// was created after that end, by the clock of the server that created it.
pub(crate) async fn record_ends_of_memberships(
    connection: &mut Connection,
    due: &[LockedMember],
    act: &Act,
) -> QueryResult<()> {
    let ((), mut revoked) = pipeline!(
        connection,
        write_ends(connection, due, act.at),
        end_dependents(connection, due, act.at),
    );
    let mut events: Vec<AuditEvent> = Vec::new();
    for member in due {
        events.push(act.planned_end_of_membership(
            member.organization(),
            MembershipId::from_uuid(member.id.0),
            member.planned_end(),
        ));
        events.extend(revoked.events_of(member, &act.of_system(member.organization())));
    }
    write_events(connection, events).await
}

async fn write_ends(
    mut connection: Pipelined<'_>,
    due: &[LockedMember],
    at: DateTime<Utc>,
) -> QueryResult<()> {
    let update = diesel::update(memberships::table.filter(memberships::id.eq_any(ids_of(due))))
        .set(memberships::end_came_at.eq(StoredMoment::from(at)));
    prepared_once(update).execute(&mut connection).await?;
    Ok(())
}

async fn leave_projects(mut connection: Pipelined<'_>, members: &[LockedMember]) -> QueryResult<()> {
    diesel::delete(project_members::table.filter(project_members::membership_id.eq_any(ids_of(members))))
        .execute(&mut connection)
        .await?;
    Ok(())
}

fn ids_of(members: &[LockedMember]) -> Vec<StoredId> {
    members.iter().map(|member| member.id).collect()
}
