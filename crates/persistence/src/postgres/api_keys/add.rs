//! Adding a key.

use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::{OptionalExtension, QueryResult};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::{try_join, try_join5};
use keyward_domain::api_key::ApiKey;
use keyward_domain::audit::Act;
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::keys::FormNonce;
use keyward_domain::ports::{AddKeyError, KeyLimits, NewApiKey};
use uuid::Uuid;

use super::holder::lock_changer;
use super::lineage::valid_in_line;
use super::row::NewKeyRow;
use crate::abort::Abort;
use crate::postgres::audit_log::write_event;
use crate::postgres::change::begin;
use crate::postgres::schema::{api_keys, memberships, organizations};

const MAX_LINE: i64 = ApiKey::MAX_LINE as i64;

pub(super) async fn add(
    connection: &mut AsyncPgConnection,
    new: NewApiKey,
    limits: KeyLimits,
    act: Act,
) -> Result<ApiKey, Abort<AddKeyError>> {
    let consumer = new.key.consumer_id;
    // What the checks see stays true until the end: nobody else adds or revokes a key of this consumer.
    let at_once: &AsyncPgConnection = connection;
    let ((), changer, first, valid, chosen) = try_join5(
        begin(at_once),
        lock_changer(at_once, consumer, new.key.parent(), limits.changes, act.at),
        created_by_form(at_once, consumer, new.nonce),
        valid_keys(at_once, consumer),
        chosen_for_new_keys(at_once, consumer, new.organization_decides),
    )
    .await?;
    let changer = changer.ok_or(Abort::Refused(AddKeyError::HolderGone))?;
    if changer.reach != KeyReach::All {
        return Err(Abort::Refused(AddKeyError::MayNotManageKeys));
    }
    let refused = |throttled| Abort::Refused(AddKeyError::Throttled(throttled));
    changer.room.map_err(refused)?;
    if let Some(first) = first {
        return Err(Abort::Refused(AddKeyError::AlreadyCreated(first)));
    }
    if valid >= i64::from(limits.valid.0) {
        return Err(Abort::Refused(AddKeyError::LimitReached));
    }
    // A line has no more valid keys than the consumer has.
    if let Some(parent) = new.key.parent()
        && valid >= MAX_LINE
        && valid_in_line(connection, consumer, parent).await? >= MAX_LINE
    {
        return Err(Abort::Refused(AddKeyError::TreeTooDeep));
    }
    let mut new = new;
    if let Some(chosen) = chosen {
        new.key.can_manage_keys = chosen;
    }
    let at_once: &AsyncPgConnection = connection;
    try_join(
        insert(at_once, &new),
        write_event(at_once, act.creation_of_key(&new.key)),
    )
    .await?;
    Ok(new.key)
}

async fn insert(mut connection: &AsyncPgConnection, new: &NewApiKey) -> QueryResult<()> {
    diesel::insert_into(api_keys::table)
        .values(NewKeyRow::new(new))
        .execute(&mut connection)
        .await?;
    Ok(())
}

/// What the consumer's organization has chosen for new keys, as of now, if that decides.
async fn chosen_for_new_keys(
    mut connection: &AsyncPgConnection,
    consumer: ConsumerId,
    decides: bool,
) -> QueryResult<Option<bool>> {
    if !decides {
        return Ok(None);
    }
    memberships::table
        .inner_join(organizations::table)
        .filter(memberships::id.eq(consumer.as_uuid()))
        .select(organizations::new_keys_manage_keys)
        .get_result(&mut connection)
        .await
        .optional()
}

async fn created_by_form(
    mut connection: &AsyncPgConnection,
    consumer: ConsumerId,
    nonce: Option<FormNonce>,
) -> QueryResult<Option<ApiKeyId>> {
    let Some(nonce) = nonce else {
        return Ok(None);
    };
    let id: Option<Uuid> = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::creation_nonce.eq(nonce.to_bytes().to_vec()))
        .select(api_keys::id)
        .get_result(&mut connection)
        .await
        .optional()?;
    Ok(id.map(ApiKeyId::from_uuid))
}

async fn valid_keys(mut connection: &AsyncPgConnection, consumer: ConsumerId) -> QueryResult<i64> {
    api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::revoked_at.is_null())
        .count()
        .get_result(&mut connection)
        .await
}
