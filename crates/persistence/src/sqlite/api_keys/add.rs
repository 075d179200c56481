//! Adding a key.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use keyward_domain::api_key::ApiKey;
use keyward_domain::audit::Act;
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::keys::FormNonce;
use keyward_domain::ports::{AddKeyError, KeyLimits, NewApiKey};

use super::holder::{changer, count_change};
use super::lineage::valid_in_line;
use super::row::NewKeyRow;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::sqlite::audit_log::write_event;
use crate::sqlite::schema::{api_keys, memberships, organizations};

const MAX_LINE: i64 = ApiKey::MAX_LINE as i64;

pub(super) fn add(
    connection: &mut SqliteConnection,
    new: NewApiKey,
    limits: KeyLimits,
    act: Act,
) -> Result<ApiKey, Abort<AddKeyError>> {
    let consumer = new.key.consumer_id;
    // What the checks see stays true until the end: nobody else writes.
    let empty_at = check(connection, &new, limits, act.at)?;
    let mut new = new;
    if new.organization_decides {
        new.key.can_manage_keys = chosen_for_new_keys(connection, consumer)?;
    }
    diesel::insert_into(api_keys::table)
        .values(NewKeyRow::new(&new))
        .execute(connection)?;
    count_change(connection, consumer, empty_at)?;
    write_event(connection, act.creation_of_key(&new.key))?;
    Ok(new.key)
}

/// Why the key cannot be added; else what to keep of the consumer's changes once it is.
pub(super) fn check(
    connection: &mut SqliteConnection,
    new: &NewApiKey,
    limits: KeyLimits,
    at: DateTime<Utc>,
) -> Result<DateTime<Utc>, Abort<AddKeyError>> {
    let consumer = new.key.consumer_id;
    let changer = changer(connection, consumer, new.key.parent(), limits.changes, at)?;
    let changer = changer.ok_or(Abort::Refused(AddKeyError::HolderGone))?;
    if changer.reach != KeyReach::All {
        return Err(Abort::Refused(AddKeyError::MayNotManageKeys));
    }
    let refused = |throttled| Abort::Refused(AddKeyError::Throttled(throttled));
    let empty_at = changer.room.map_err(refused)?;
    if let Some(nonce) = new.nonce
        && let Some(first) = created_by_form(connection, consumer, nonce)?
    {
        return Err(Abort::Refused(AddKeyError::AlreadyCreated(first)));
    }
    let valid = valid_keys(connection, consumer)?;
    if valid >= i64::from(limits.valid.0) {
        return Err(Abort::Refused(AddKeyError::LimitReached));
    }
    // A line has no more valid keys than the consumer has.
    if let Some(parent) = new.key.parent()
        && valid >= MAX_LINE
        && valid_in_line(connection, consumer, parent)? >= MAX_LINE
    {
        return Err(Abort::Refused(AddKeyError::TreeTooDeep));
    }
    Ok(empty_at)
}

/// What the consumer's organization has chosen for new keys.
fn chosen_for_new_keys(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
) -> Result<bool, diesel::result::Error> {
    let chosen: i64 = memberships::table
        .inner_join(organizations::table)
        .filter(memberships::id.eq(StoredId(consumer.as_uuid())))
        .select(organizations::new_keys_manage_keys)
        .get_result(connection)?;
    Ok(chosen == 1)
}

fn created_by_form(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    nonce: FormNonce,
) -> Result<Option<ApiKeyId>, diesel::result::Error> {
    let id: Option<StoredId> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::creation_nonce.eq(nonce.to_bytes().to_vec()))
        .select(api_keys::id)
        .get_result(connection)
        .optional()?;
    Ok(id.map(|id| ApiKeyId::from_uuid(id.0)))
}

fn valid_keys(connection: &mut SqliteConnection, consumer: ConsumerId) -> Result<i64, diesel::result::Error> {
    api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::revoked_at.is_null())
        .count()
        .get_result(connection)
}
