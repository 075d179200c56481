//! Revoking many keys, a portion in each act.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::{try_join, try_join3};
use keyward_domain::administration::ports::{KeySelection, RevokeKeysError};
use keyward_domain::api_key::{RevocationNote, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use uuid::Uuid;

use crate::abort::Abort;
use crate::limit;
use crate::postgres::change::begin;
use crate::postgres::schema::{api_keys, memberships};
use crate::postgres::sql::api_keys::revoke::revoke_valid;
use crate::postgres::sql::authority::lock_authority;
use crate::postgres::sql::organization_keys::selection::{Selected, consumers_of_keys, valid_of};
use crate::postgres::sql::validity::key_is_valid;

pub(in crate::postgres) async fn revoke(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    selection: KeySelection,
    at_most: NonZeroU32,
    reason: RevocationReason,
    note: Option<RevocationNote>,
    act: Act,
) -> Result<Vec<ApiKeyId>, Abort<RevokeKeysError>> {
    let at_once: &AsyncPgConnection = connection;
    let ((), may_administer, consumers) = try_join3(
        begin(at_once),
        lock_authority(at_once, organization, act.actor, act.at),
        consumers_of(at_once, organization, &selection),
    )
    .await?;
    if !may_administer {
        return Err(Abort::Refused(RevokeKeysError::NotAllowed));
    }
    // No child is born to any of the keys, and no other revocation comes between, until this one is committed: that takes the
    // lock of the consumer. Of these consumers, no key is born either while it is found out which are selected.
    let ((), (selected, mut first)) = try_join(
        lock_consumers(at_once, organization, &consumers),
        select(at_once, organization, selection, at_most, act.at),
    )
    .await?;
    let mut locked: BTreeSet<Uuid> = consumers.into_iter().collect();
    let mut revoked = Vec::new();
    loop {
        let are_all = first.len() < left(at_most, &revoked);
        let (keys, consumers): (Vec<Uuid>, BTreeSet<Uuid>) = first.into_iter().unzip();
        let found = keys.len();
        let valid = if consumers.is_subset(&locked) {
            keys
        } else {
            // Somebody else may have revoked some before the lock: then others take their place.
            let of_keys: Vec<Uuid> = consumers.iter().copied().collect();
            let ((), valid) = try_join(
                lock_consumers(at_once, organization, &of_keys),
                still_valid(at_once, &keys, act.at),
            )
            .await?;
            locked.extend(consumers);
            valid
        };
        let is_portion = are_all || valid.len() == found;
        if !valid.is_empty() {
            revoked.extend(revoke_valid(at_once, valid, reason, note.as_ref(), &act).await?);
        }
        if is_portion {
            return Ok(revoked);
        }
        let left = left(at_most, &revoked);
        first = first_of(at_once, organization, &selected, left, act.at).await?;
    }
}

/// Whose new keys a selection may come to have: none are born that were created before a moment that is settled.
async fn consumers_of(
    connection: &AsyncPgConnection,
    organization: OrganizationId,
    selection: &KeySelection,
) -> QueryResult<Vec<Uuid>> {
    match selection {
        KeySelection::Keys { ids, descendants: _ } => consumers_of_keys(connection, organization, ids).await,
        KeySelection::OfConsumer(consumer) => Ok(vec![consumer.as_uuid()]),
        KeySelection::IssuedBefore(_) => Ok(Vec::new()),
    }
}

/// How many more keys belong to the portion.
fn left(at_most: NonZeroU32, revoked: &[ApiKeyId]) -> usize {
    (at_most.get() as usize).saturating_sub(revoked.len())
}

/// What is selected, and the first keys of it.
async fn select(
    connection: &AsyncPgConnection,
    organization: OrganizationId,
    selection: KeySelection,
    at_most: NonZeroU32,
    at: DateTime<Utc>,
) -> QueryResult<(Selected, Vec<(Uuid, Uuid)>)> {
    let selected = Selected::new(connection, organization, selection, at).await?;
    let first = first_of(connection, organization, &selected, left(at_most, &[]), at).await?;
    Ok((selected, first))
}

/// The first valid keys that are selected, each with its consumer.
async fn first_of(
    mut connection: &AsyncPgConnection,
    organization: OrganizationId,
    selected: &Selected,
    at_most: usize,
    at: DateTime<Utc>,
) -> QueryResult<Vec<(Uuid, Uuid)>> {
    api_keys::table
        .filter(valid_of(organization, selected, at))
        .order(api_keys::id)
        .limit(limit::at_most(at_most))
        .select((api_keys::id, api_keys::consumer_id))
        .load(&mut connection)
        .await
}

async fn still_valid(
    mut connection: &AsyncPgConnection,
    keys: &[Uuid],
    at: DateTime<Utc>,
) -> QueryResult<Vec<Uuid>> {
    api_keys::table
        .filter(api_keys::id.eq_any(keys))
        .filter(key_is_valid(at.into()))
        .order(api_keys::id)
        .select(api_keys::id)
        .load(&mut connection)
        .await
}

/// Nothing to wait for, where there are none, nor where they are of another organization.
async fn lock_consumers(
    mut connection: &AsyncPgConnection,
    organization: OrganizationId,
    consumers: &[Uuid],
) -> QueryResult<()> {
    if !consumers.is_empty() {
        memberships::table
            .filter(memberships::organization_id.eq(organization.as_uuid()))
            .filter(memberships::id.eq_any(consumers))
            .order(memberships::id)
            .select(memberships::id)
            .for_no_key_update()
            .load::<Uuid>(&mut connection)
            .await?;
    }
    Ok(())
}
