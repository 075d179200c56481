//! Keys whose planned end has come, and recording that.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId};
use keyward_domain::validity::End;
use uuid::Uuid;

use super::dialect::{Pipelined, RunQueryDsl, listed, lock_keys, pipeline, prepared_once, write_events};
use super::schema::api_keys;
use super::validity::key_is_due;
use crate::columns::{StoredId, StoredMoment};

/// A key whose planned end has come and is not recorded.
pub(crate) struct DueKey {
    pub(crate) id: Uuid,
    organization: OrganizationId,
    planned: Option<End>,
}

/// Its identifier, its organization's, and its planned end.
pub(crate) type StoredDueKey = (StoredId, StoredId, Option<StoredMoment>);

impl From<StoredDueKey> for DueKey {
    fn from((id, organization, planned): StoredDueKey) -> Self {
        Self {
            id: id.0,
            organization: OrganizationId::from_uuid(organization.0),
            planned: planned.and_then(StoredMoment::as_planned_end),
        }
    }
}

/// The keys of a consumer whose planned end has come and is not recorded.
pub(crate) async fn due_of(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
    at: DateTime<Utc>,
) -> QueryResult<Vec<DueKey>> {
    let due: Vec<StoredDueKey> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(key_is_due(at.into()))
        .select((api_keys::id, api_keys::organization_id, api_keys::revoked_at))
        .load(&mut connection)
        .await?;
    Ok(due.into_iter().map(DueKey::from).collect())
}

/// Records that the planned ends of these keys have come, with an event of each. Their consumers must be
/// locked.
///
/// Only the job checks the clock: a user who revokes keys wants them to end now, so a clock that is ahead
/// ends nothing that should stay.
pub(crate) async fn record_ends_of_keys(
    connection: Pipelined<'_>,
    due: Vec<DueKey>,
    act: &Act,
) -> QueryResult<()> {
    if due.is_empty() {
        return Ok(());
    }
    let keys: Vec<Uuid> = due.iter().map(|due| due.id).collect();
    let events = due
        .iter()
        .map(|due| act.planned_end_of_key(due.organization, ApiKeyId::from_uuid(due.id), due.planned));
    pipeline!(
        connection,
        lock_keys(connection, &keys),
        write_ends(connection, &keys, act.at),
        write_events(connection, events.collect()),
    );
    Ok(())
}

async fn write_ends(mut connection: Pipelined<'_>, keys: &[Uuid], at: DateTime<Utc>) -> QueryResult<()> {
    let update = diesel::update(api_keys::table.filter(listed(keys.iter().copied())))
        .set(api_keys::end_came_at.eq(StoredMoment::from(at)));
    prepared_once(update).execute(&mut connection).await?;
    Ok(())
}
