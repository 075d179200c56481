//! Revoking many keys, a portion in each act.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use keyward_domain::administration::ports::{KeySelection, RevokeKeysError};
use keyward_domain::api_key::{RevocationNote, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use uuid::Uuid;

use super::selection::{Selected, consumers_of, valid_of};
use crate::abort::Abort;
use crate::postgres::api_keys::revoke::revoke_locked;
use crate::postgres::authority::lock_authority;
use crate::postgres::schema::{api_keys, memberships};

pub(super) async fn revoke(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    selection: KeySelection,
    at_most: NonZeroU32,
    reason: RevocationReason,
    note: Option<RevocationNote>,
    act: Act,
) -> Result<Vec<ApiKeyId>, Abort<RevokeKeysError>> {
    if !lock_authority(connection, organization, act.actor).await? {
        return Err(Abort::Refused(RevokeKeysError::NotAllowed));
    }
    // Of these consumers, no key is born while it is found out which are selected.
    let consumers = consumers_of(connection, organization, &selection).await?;
    lock_consumers(connection, &consumers).await?;
    let selected = Selected::new(connection, organization, selection).await?;
    let mut revoked = Vec::new();
    loop {
        let left = i64::from(at_most.get()).saturating_sub_unsigned(revoked.len() as u64);
        let first: Vec<(Uuid, Uuid)> = api_keys::table
            .filter(valid_of(organization, &selected))
            .order(api_keys::id)
            .limit(left)
            .select((api_keys::id, api_keys::consumer_id))
            .load(connection)
            .await?;
        let are_all = left > i64::try_from(first.len()).unwrap_or(i64::MAX);
        let (keys, consumers): (Vec<Uuid>, BTreeSet<Uuid>) = first.into_iter().unzip();
        let consumers: Vec<Uuid> = consumers.into_iter().collect();
        // No child is born to any of these keys, and no other revocation comes between, until this one is committed: that
        // takes the lock of the consumer.
        lock_consumers(connection, &consumers).await?;
        let valid: Vec<Uuid> = api_keys::table
            .filter(api_keys::id.eq_any(&keys))
            .filter(api_keys::revoked_at.is_null())
            .order(api_keys::id)
            .select(api_keys::id)
            .for_no_key_update()
            .load(connection)
            .await?;
        // Somebody else may have revoked some before the lock: then others take their place.
        let is_portion = are_all || valid.len() == keys.len();
        revoked.extend(revoke_locked(connection, valid, reason, note.as_ref(), &act).await?);
        if is_portion {
            return Ok(revoked);
        }
    }
}

fn lock_consumers<'a>(
    connection: &'a mut AsyncPgConnection,
    consumers: &'a [Uuid],
) -> BoxFuture<'a, QueryResult<()>> {
    Box::pin(load_locked(connection, consumers))
}

async fn load_locked(connection: &mut AsyncPgConnection, consumers: &[Uuid]) -> QueryResult<()> {
    memberships::table
        .filter(memberships::id.eq_any(consumers))
        .order(memberships::id)
        .select(memberships::id)
        .for_no_key_update()
        .load::<Uuid>(connection)
        .await?;
    Ok(())
}
