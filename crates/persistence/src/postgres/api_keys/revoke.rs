//! Revoking a key, alone or with its descendants.

use diesel::BoxableExpression;
use diesel::dsl::exists;
use diesel::pg::Pg;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::sql_types::Bool;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::api_key::RevocationReason;
use keyward_domain::audit::{Act, Action, Subject};
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::{DescendantKeys, RevokeKeyError};
use uuid::Uuid;

use super::descendants::is_or_descends_from;
use super::holder::lock_holder;
use crate::abort::Abort;
use crate::actor;
use crate::postgres::audit_log::write_events;
use crate::postgres::schema::api_keys;

pub(super) async fn revoke(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    reason: RevocationReason,
    descendants: DescendantKeys,
    act: Act,
) -> Result<Vec<ApiKeyId>, Abort<RevokeKeyError>> {
    // No child is born to any of these keys, and no other revocation comes between, until this one is committed. A
    // membership that has ended is no obstacle to whoever acts in person: its keys can still be revoked.
    let acting_key = act.actor.api_key();
    let is_there = lock_holder(connection, consumer, acting_key).await?;
    if acting_key.is_some() && !is_there {
        return Err(Abort::Refused(RevokeKeyError::HolderGone));
    }
    let targets: Box<dyn BoxableExpression<api_keys::table, Pg, SqlType = Bool>> = match descendants {
        DescendantKeys::Keep => Box::new(api_keys::id.eq(id.as_uuid())),
        DescendantKeys::Revoke => is_or_descends_from(consumer, id),
    };
    let (by_kind, by_id) = actor::to_columns(act.actor);
    let mut revoked: Vec<Uuid> = diesel::update(
        api_keys::table
            .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
            // The first revocation stays as it is.
            .filter(api_keys::revoked_at.is_null())
            .filter(targets),
    )
    .set((
        api_keys::revoked_at.eq(act.at),
        api_keys::revoked_by_kind.eq(by_kind),
        api_keys::revoked_by_id.eq(by_id),
        api_keys::revoked_reason.eq(reason.as_str()),
    ))
    .returning(api_keys::id)
    .get_results(connection)
    .await?;
    if revoked.is_empty() && !key_exists(connection, consumer, id).await? {
        return Err(Abort::Refused(RevokeKeyError::NotFound));
    }
    revoked.sort_unstable();

    let revoked: Vec<ApiKeyId> = revoked.into_iter().map(ApiKeyId::from_uuid).collect();
    let events = revoked
        .iter()
        .map(|key| act.event(Action::RevokeApiKey, Subject::ApiKey(*key)))
        .collect();
    write_events(connection, events).await?;
    Ok(revoked)
}

async fn key_exists(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<bool, diesel::result::Error> {
    diesel::select(exists(
        api_keys::table
            .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
            .filter(api_keys::id.eq(id.as_uuid())),
    ))
    .get_result(connection)
    .await
}
