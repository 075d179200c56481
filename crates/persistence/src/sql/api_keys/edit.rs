//! Editing a key.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::api_key::{ApiKey, ChangeOfKey, KeyEdit, KeyPrecondition};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::ports::EditKeyError;
use keyward_domain::rate::Rate;

use super::super::dialect::{
    Connection, Pipelined, RunQueryDsl, begin, pipeline, prepared_once, write_events,
};
use super::super::schema::api_keys;
use super::add::chosen_for_new_keys;
use super::holder::{Changer, changer, lock_changer};
use super::read::{find_row, live_successor};
use super::row::{EndRow, KeyRow, WordsRow};
use crate::abort::Abort;
use crate::columns::StoredId;

pub(super) async fn edit(
    connection: &mut Connection,
    consumer: MembershipId,
    id: ApiKeyId,
    edit: KeyEdit,
    precondition: KeyPrecondition,
    changes: Rate,
    act: Act,
) -> Result<ApiKey, Abort<EditKeyError>> {
    // Concurrent edits and revocations wait for the lock, so the write below overwrites none of them.
    let ((), changer, row, chosen) = pipeline!(
        connection,
        begin(connection),
        lock_changer(connection, consumer, act.actor.api_key(), changes, act.at),
        find_row(connection, consumer, id),
        chosen_for_new_keys(connection, consumer),
    );
    let act = act.at_current_time();
    let mut key = check(id, &edit, &precondition, changer, row, act.at)?;
    let longest = chosen.map(|chosen| chosen.longest_life()).transpose()?.flatten();
    let successor = live_successor(connection, &key, act.at).await?;
    let applied = key.apply(&edit, successor, longest, act.actor);
    let changed = applied.map_err(|error| Abort::Refused(error.into()))?;
    if changed.is_empty() {
        return Ok(key);
    }
    let events = changed.iter().map(|change| act.edit_of_key(id, *change));
    pipeline!(
        connection,
        write_back(connection, &key),
        write_end(connection, &key, &changed),
        write_events(connection, events.collect()),
    );
    Ok(key)
}

/// The checks before editing a key, without a lock.
pub(super) async fn precheck(
    connection: &mut Connection,
    consumer: MembershipId,
    id: ApiKeyId,
    edit: KeyEdit,
    precondition: KeyPrecondition,
    changes: Rate,
    act: Act,
) -> Result<(), Abort<EditKeyError>> {
    let (changer, row) = pipeline!(
        connection,
        changer(connection, consumer, act.actor.api_key(), changes, act.at),
        find_row(connection, consumer, id),
    );
    check(id, &edit, &precondition, changer, row, act.at).map(drop)
}

fn check(
    id: ApiKeyId,
    edit: &KeyEdit,
    precondition: &KeyPrecondition,
    changer: Option<Changer>,
    row: Option<KeyRow>,
    at: DateTime<Utc>,
) -> Result<ApiKey, Abort<EditKeyError>> {
    let changer = changer.filter(|changer| changer.may_act(at));
    let changer = changer.ok_or(Abort::Refused(EditKeyError::HolderGone))?;
    let refused = |throttled| Abort::Refused(EditKeyError::Throttled(throttled));
    changer.room.map_err(refused)?;
    if !changer.reach.includes(id) {
        return Err(Abort::Refused(EditKeyError::NotFound));
    }
    let row = row.ok_or(Abort::Refused(EditKeyError::NotFound))?;
    let key = ApiKey::try_from(row)?;
    if !key.is_valid(at) {
        return Err(Abort::Refused(EditKeyError::Revoked));
    }
    if !precondition.is_met_by(&key) {
        return Err(Abort::Refused(EditKeyError::PreconditionFailed));
    }
    edit.check(at).map_err(|error| Abort::Refused(error.into()))?;
    Ok(key)
}

async fn write_back(mut connection: Pipelined<'_>, key: &ApiKey) -> QueryResult<()> {
    let update = diesel::update(
        api_keys::table
            .filter(api_keys::consumer_id.eq(StoredId(key.consumer_id.as_uuid())))
            .filter(api_keys::id.eq(StoredId(key.id.as_uuid()))),
    )
    .set(WordsRow::from(key));
    prepared_once(update).execute(&mut connection).await?;
    Ok(())
}

/// Writes the planned end, if it changed.
async fn write_end(mut connection: Pipelined<'_>, key: &ApiKey, changed: &[ChangeOfKey]) -> QueryResult<()> {
    if changed == [ChangeOfKey::Words] {
        return Ok(());
    }
    let update = diesel::update(
        api_keys::table
            .filter(api_keys::consumer_id.eq(StoredId(key.consumer_id.as_uuid())))
            .filter(api_keys::id.eq(StoredId(key.id.as_uuid()))),
    )
    .set(EndRow::from(key));
    prepared_once(update).execute(&mut connection).await?;
    Ok(())
}
