//! Adding a key.

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
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
use crate::postgres::schema::{api_keys, memberships, organizations};

const MAX_LINE: i64 = ApiKey::MAX_LINE as i64;

pub(super) async fn add(
    connection: &mut AsyncPgConnection,
    new: NewApiKey,
    limits: KeyLimits,
    act: Act,
) -> Result<ApiKey, Abort<AddKeyError>> {
    let consumer = new.key.consumer_id;
    // What the checks below see stays true until the end: nobody else adds or revokes a key of this consumer.
    let changer = lock_changer(connection, consumer, new.key.parent(), limits.changes, act.at).await?;
    let changer = changer.ok_or(Abort::Refused(AddKeyError::HolderGone))?;
    if changer.reach != KeyReach::All {
        return Err(Abort::Refused(AddKeyError::MayNotManageKeys));
    }
    let refused = |throttled| Abort::Refused(AddKeyError::Throttled(throttled));
    changer.room.map_err(refused)?;
    if let Some(nonce) = new.nonce
        && let Some(first) = created_by_form(connection, consumer, nonce).await?
    {
        return Err(Abort::Refused(AddKeyError::AlreadyCreated(first)));
    }
    let valid = valid_keys(connection, consumer).await?;
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
    if new.organization_decides {
        new.key.can_manage_keys = chosen_for_new_keys(connection, consumer).await?;
    }
    diesel::insert_into(api_keys::table)
        .values(NewKeyRow::new(&new))
        .execute(connection)
        .await?;
    write_event(connection, act.creation_of_key(&new.key)).await?;
    Ok(new.key)
}

/// What the consumer's organization has chosen for new keys, as of now.
async fn chosen_for_new_keys(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
) -> Result<bool, diesel::result::Error> {
    memberships::table
        .inner_join(organizations::table)
        .filter(memberships::id.eq(consumer.as_uuid()))
        .select(organizations::new_keys_manage_keys)
        .get_result(connection)
        .await
}

async fn created_by_form(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    nonce: FormNonce,
) -> Result<Option<ApiKeyId>, diesel::result::Error> {
    let id: Option<Uuid> = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::creation_nonce.eq(nonce.to_bytes().to_vec()))
        .select(api_keys::id)
        .get_result(connection)
        .await
        .optional()?;
    Ok(id.map(ApiKeyId::from_uuid))
}

async fn valid_keys(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
) -> Result<i64, diesel::result::Error> {
    api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::revoked_at.is_null())
        .count()
        .get_result(connection)
        .await
}
