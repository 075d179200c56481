//! Editing a key.

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::api_key::{ApiKey, KeyEdit, KeyPrecondition};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::EditKeyError;
use keyward_domain::rate::Rate;

use super::holder::lock_changer;
use super::row::KeyRow;
use crate::abort::Abort;
use crate::postgres::audit_log::write_event;
use crate::postgres::schema::api_keys;

pub(super) async fn edit(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    edit: KeyEdit,
    precondition: KeyPrecondition,
    changes: Rate,
    event: AuditEvent,
) -> Result<ApiKey, Abort<EditKeyError>> {
    // Concurrent edits and revocations wait, so what is written back below undoes none of them.
    let changer = lock_changer(connection, consumer, event.actor.api_key(), changes, event.at).await?;
    let changer = changer.ok_or(Abort::Refused(EditKeyError::HolderGone))?;
    let refused = |throttled| Abort::Refused(EditKeyError::Throttled(throttled));
    changer.room.map_err(refused)?;
    if !changer.reach.includes(id) {
        return Err(Abort::Refused(EditKeyError::NotFound));
    }
    let row: Option<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::id.eq(id.as_uuid()))
        .select(KeyRow::as_select())
        .get_result(connection)
        .await
        .optional()?;
    let row = row.ok_or(Abort::Refused(EditKeyError::NotFound))?;
    let mut key = ApiKey::try_from(row)?;
    if !key.is_valid() {
        return Err(Abort::Refused(EditKeyError::Revoked));
    }
    if !precondition.is_met_by(&key) {
        return Err(Abort::Refused(EditKeyError::PreconditionFailed));
    }
    if key.apply(&edit) {
        diesel::update(
            api_keys::table
                .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
                .filter(api_keys::id.eq(id.as_uuid())),
        )
        .set((
            api_keys::name.eq(key.name.as_str()),
            api_keys::description.eq(key.description.as_str()),
            api_keys::search_text.eq(key.search_text()),
        ))
        .execute(connection)
        .await?;
        write_event(connection, event).await?;
    }
    Ok(key)
}
