//! Editing a key.

use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::{try_join, try_join3};
use keyward_domain::api_key::{ApiKey, KeyEdit, KeyPrecondition};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::EditKeyError;
use keyward_domain::rate::Rate;

use super::holder::lock_changer;
use super::read::find_row;
use crate::abort::Abort;
use crate::postgres::audit_log::write_event;
use crate::postgres::change::begin;
use crate::postgres::prepared_once::PreparedOnce;
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
    let at_once: &AsyncPgConnection = connection;
    let ((), changer, row) = try_join3(
        begin(at_once),
        lock_changer(at_once, consumer, event.actor.api_key(), changes, event.at),
        find_row(at_once, consumer, id),
    )
    .await?;
    let changer = changer.ok_or(Abort::Refused(EditKeyError::HolderGone))?;
    let refused = |throttled| Abort::Refused(EditKeyError::Throttled(throttled));
    changer.room.map_err(refused)?;
    if !changer.reach.includes(id) {
        return Err(Abort::Refused(EditKeyError::NotFound));
    }
    let row = row.ok_or(Abort::Refused(EditKeyError::NotFound))?;
    let mut key = ApiKey::try_from(row)?;
    if !key.is_valid() {
        return Err(Abort::Refused(EditKeyError::Revoked));
    }
    if !precondition.is_met_by(&key) {
        return Err(Abort::Refused(EditKeyError::PreconditionFailed));
    }
    if key.apply(&edit) {
        let at_once: &AsyncPgConnection = connection;
        try_join(write_back(at_once, &key), write_event(at_once, event)).await?;
    }
    Ok(key)
}

async fn write_back(mut connection: &AsyncPgConnection, key: &ApiKey) -> QueryResult<()> {
    let update = diesel::update(
        api_keys::table
            .filter(api_keys::consumer_id.eq(key.consumer_id.as_uuid()))
            .filter(api_keys::id.eq(key.id.as_uuid())),
    )
    .set((
        api_keys::name.eq(key.name.as_str()),
        api_keys::description.eq(key.description.as_str()),
        api_keys::search_text.eq(key.search_text()),
    ));
    PreparedOnce(update).execute(&mut connection).await?;
    Ok(())
}
