//! The longest life of keys, applied to those that exist.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::num::NonZeroU32;

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::dsl::{SqlTypeOf, sql};
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use keyward_domain::administration::ports::{ApplyLongestLifeError, PreviewedKeys, ShortenedBatch};
use keyward_domain::api_key::{ApiKey, ChangeOfKey, LongestLife, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use uuid::Uuid;

use super::super::authority::{lock_authority, may_administer};
use super::super::dialect::{
    Connection, Pipelined, RunQueryDsl, cancellable, created_and_later, listed, lock_consumers, lock_keys,
    write_events,
};
use super::super::organizations::longest_life_of;
use super::super::schema::{api_keys, memberships};
use super::super::validity::{key_is_valid, key_outlives, membership_is_live};
use super::read::previewed;
use super::selection::{KeyCondition, within};
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};
use crate::limit;
use crate::stored_row::StoredRow;

pub(super) async fn preview(
    connection: &mut Connection,
    organization: OrganizationId,
    longest: LongestLife,
    now: DateTime<Utc>,
) -> Result<PreviewedKeys, Abort<Infallible>> {
    let keys = api_keys::table.filter(outliving(organization, longest, now));
    let keys: Vec<(StoredId, StoredId, Option<StoredMoment>)> = cancellable!(keys, api_keys::id)
        .select((api_keys::id, api_keys::consumer_id, api_keys::last_used_at))
        .limit(limit::at_most(PreviewedKeys::COUNTED + 1))
        .load(connection)
        .await?;
    let latest_used_first = |(id, consumer, used)| (id, consumer, Reverse(used));
    let keys = keys.into_iter().map(latest_used_first).collect();
    previewed(connection, organization, keys, PreviewedKeys::SHOWN_OF_SHORTENED).await
}

pub(super) async fn apply(
    connection: &mut Connection,
    organization: OrganizationId,
    longest: LongestLife,
    after: Option<ApiKeyId>,
    at_most: NonZeroU32,
    act: Act,
) -> Result<ShortenedBatch, Abort<ApplyLongestLifeError>> {
    let act = lock_authority(connection, organization, act).await?;
    let act = act.ok_or(Abort::Refused(ApplyLongestLifeError::NotAllowed))?;
    if longest_life_of(connection, organization).await? != Some(longest) {
        return Err(Abort::Refused(ApplyLongestLifeError::LimitChanged));
    }
    let at_most = at_most.get() as usize;
    let found: Vec<(StoredId, StoredId)> = api_keys::table
        .filter(outliving(organization, longest, act.at))
        .filter(api_keys::id.gt(StoredId(after.map_or(Uuid::nil(), |key| key.as_uuid()))))
        .order(api_keys::id)
        .limit(limit::at_most(at_most))
        .select((api_keys::id, api_keys::consumer_id))
        .load(connection)
        .await?;
    let consumers: BTreeSet<Uuid> = found.iter().map(|(_, consumer)| consumer.0).collect();
    let consumers: Vec<Uuid> = consumers.into_iter().collect();
    lock_consumers(connection, organization, &consumers).await?;
    // The locks may have taken long: an end that has come meanwhile is final, and the notice counts from now
    // on.
    let act = act.at_current_time();
    if !may_administer(connection, organization, act.actor, act.at).await? {
        return Err(Abort::Refused(ApplyLongestLifeError::NotAllowed));
    }
    let rows: Vec<(StoredId, StoredMoment, Option<StoredMoment>)> = api_keys::table
        .filter(listed(found.iter().map(|(key, _)| key.0)))
        .filter(outliving(organization, longest, act.at))
        .order(api_keys::id)
        .select((api_keys::id, api_keys::created_at, api_keys::revoked_at))
        .load(connection)
        .await?;
    let keys = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    write(connection, rows, longest, &act).await?;
    let last = found.last().map(|(key, _)| ApiKeyId::from_uuid(key.0));
    Ok(ShortenedBatch {
        keys,
        continues_after: last.filter(|_| found.len() == at_most),
    })
}

/// Plans the ends of these keys, which have consumers that are locked, by their creation and ends until now.
async fn write(
    connection: &mut Connection,
    rows: Vec<(StoredId, StoredMoment, Option<StoredMoment>)>,
    longest: LongestLife,
    act: &Act,
) -> Result<(), Abort<ApplyLongestLifeError>> {
    let after_notice = act.at + ApiKey::EXPIRES_SOON;
    let (mut keys, mut later, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for (StoredId(id), created_at, end) in rows {
        let stored = StoredRow::new("api_keys", id);
        let created_at = stored.moment("created_at", created_at)?;
        let before = stored.moment_if_any("revoked_at", end)?;
        let end = longest.end_of_existing_key(created_at, act.at);
        if end > after_notice {
            later.push(id);
        }
        let after = Some(end);
        let change = ChangeOfKey::Expiry { before, after };
        events.push(act.edit_of_key(ApiKeyId::from_uuid(id), change));
        keys.push(id);
    }
    if keys.is_empty() {
        return Ok(());
    }
    lock_keys(connection, &keys).await?;
    write_ends(connection, &keys, after_notice, act).await?;
    if !later.is_empty() {
        write_later_ends(connection, &later, longest).await?;
    }
    write_events(connection, events).await?;
    Ok(())
}

/// The valid keys of live memberships that would live longer.
fn outliving(organization: OrganizationId, longest: LongestLife, now: DateTime<Utc>) -> KeyCondition {
    let after_notice = now + ApiKey::EXPIRES_SOON;
    let live = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(membership_is_live(now.into()))
        .select(memberships::id);
    Box::new(
        within(organization)
            .and(key_is_valid(after_notice.into()))
            .and(key_outlives(longest))
            .and(api_keys::consumer_id.eq_any(live)),
    )
}

/// All of them end at one time.
async fn write_ends(
    mut connection: Pipelined<'_>,
    keys: &[Uuid],
    at: DateTime<Utc>,
    act: &Act,
) -> QueryResult<()> {
    let (by_kind, by_id) = (act.actor.kind(), act.actor.id());
    diesel::update(api_keys::table.filter(listed(keys.iter().copied())))
        .set((
            api_keys::revoked_at.eq(StoredMoment::from(at)),
            api_keys::revoked_by_kind.eq(by_kind),
            api_keys::revoked_by_id.eq(by_id.map(StoredId)),
            api_keys::revoked_reason.eq(RevocationReason::Expired.as_str()),
        ))
        .execute(&mut connection)
        .await?;
    Ok(())
}

/// Each of them ends so long after its creation.
async fn write_later_ends(
    mut connection: Pipelined<'_>,
    keys: &[Uuid],
    longest: LongestLife,
) -> QueryResult<()> {
    let end = sql::<SqlTypeOf<api_keys::revoked_at>>(&created_and_later(longest));
    diesel::update(api_keys::table.filter(listed(keys.iter().copied())))
        .set(api_keys::revoked_at.eq(end))
        .execute(&mut connection)
        .await?;
    Ok(())
}
