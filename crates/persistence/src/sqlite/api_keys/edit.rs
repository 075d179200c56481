//! Editing a key.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use keyward_domain::api_key::{ApiKey, KeyEdit, KeyPrecondition};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::EditKeyError;
use keyward_domain::rate::Rate;

use super::holder::{changer, count_change};
use super::row::KeyRow;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::sqlite::audit_log::write_event;
use crate::sqlite::schema::api_keys;

pub(super) fn edit(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    edit: KeyEdit,
    precondition: KeyPrecondition,
    changes: Rate,
    event: AuditEvent,
) -> Result<ApiKey, Abort<EditKeyError>> {
    // Nobody else writes meanwhile, so what is written back below undoes nothing.
    let (mut key, empty_at) = check(connection, consumer, id, &precondition, changes, &event)?;
    count_change(connection, consumer, empty_at)?;
    if key.apply(&edit) {
        diesel::update(
            api_keys::table
                .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
                .filter(api_keys::id.eq(StoredId(id.as_uuid()))),
        )
        .set((
            api_keys::name.eq(key.name.as_str()),
            api_keys::description.eq(key.description.as_str()),
            api_keys::search_text.eq(key.search_text()),
        ))
        .execute(connection)?;
        write_event(connection, event)?;
    }
    Ok(key)
}

/// Why the key cannot be edited; else the key, and what to keep of the consumer's changes once it is.
pub(super) fn check(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    precondition: &KeyPrecondition,
    changes: Rate,
    event: &AuditEvent,
) -> Result<(ApiKey, DateTime<Utc>), Abort<EditKeyError>> {
    let changer = changer(connection, consumer, event.actor.api_key(), changes, event.at)?;
    let changer = changer.ok_or(Abort::Refused(EditKeyError::HolderGone))?;
    let refused = |throttled| Abort::Refused(EditKeyError::Throttled(throttled));
    let empty_at = changer.room.map_err(refused)?;
    if !changer.reach.includes(id) {
        return Err(Abort::Refused(EditKeyError::NotFound));
    }
    let row: Option<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::id.eq(StoredId(id.as_uuid())))
        .select(KeyRow::as_select())
        .get_result(connection)
        .optional()?;
    let row = row.ok_or(Abort::Refused(EditKeyError::NotFound))?;
    let key = ApiKey::try_from(row)?;
    if !key.is_valid() {
        return Err(Abort::Refused(EditKeyError::Revoked));
    }
    if !precondition.is_met_by(&key) {
        return Err(Abort::Refused(EditKeyError::PreconditionFailed));
    }
    Ok((key, empty_at))
}
