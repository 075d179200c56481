//! Keys within one transaction. A consumer has at most a few hundred, so they are read one after the other.

use chrono::{DateTime, Utc};
use keyward_domain::api_key::{
    ApiKey, KeyDescription, KeyName, Origin, Revocation, RevocationNote, RevocationReason,
};
use keyward_domain::audit::Actor;
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::ports::StorageError;
use keyward_domain::rate::{Rate, Throttled};
use keyward_domain::token::TokenHint;
use keyward_domain::validity::is_over;
use redb::{ReadableTable, WriteTransaction};
use uuid::Uuid;

use crate::columns::{Row, actor_reference, end_row};
use crate::store::failed;
use crate::tables::{CHANGES, EndRow, MEMBERSHIPS, Reference, Table};

/// The adoptive parent, and the keys that it was rotated from and to.
type Relations = (Option<Uuid>, Option<Uuid>, Option<Uuid>);

/// Hint, name, description, whether it manages keys, origin, creation, revocation, and what [`Relations`]
/// has.
pub(crate) type KeyRow<'a> = (
    &'a str,
    &'a str,
    &'a str,
    bool,
    Reference<'a>,
    i64,
    Option<RevocationRow<'a>>,
    Relations,
);
/// End, actor, reason, note.
type RevocationRow<'a> = (EndRow, Reference<'a>, &'a str, Option<&'a str>);

/// The consumer and the key: the keys of one consumer are one range.
type Path = (Uuid, Uuid);

pub(crate) const KEYS: Table<Path, KeyRow<'_>> = Table::new("api_keys");

/// The table of keys, open for reading or for writing.
pub(crate) trait Keys: ReadableTable<Path, KeyRow<'static>> {}
impl<T: ReadableTable<Path, KeyRow<'static>>> Keys for T {}

/// One key of the consumer.
pub(crate) fn find(
    keys: &impl Keys,
    consumer: MembershipId,
    id: ApiKeyId,
) -> Result<Option<ApiKey>, StorageError> {
    match keys.get((consumer.as_uuid(), id.as_uuid())).map_err(failed)? {
        Some(row) => Ok(Some(read(consumer, id, row.value())?)),
        None => Ok(None),
    }
}

/// The consumer's keys, newest first; only older ones than `after`, if that is given.
pub(crate) fn newest_first(
    keys: &impl Keys,
    consumer: MembershipId,
    after: Option<ApiKeyId>,
) -> Result<impl Iterator<Item = Result<ApiKey, StorageError>>, StorageError> {
    let owner = consumer.as_uuid();
    let before = after.map_or(Uuid::max(), |after| after.as_uuid());
    let rows = keys
        .range((owner, Uuid::nil())..(owner, before))
        .map_err(failed)?;
    Ok(rows.rev().map(move |row| {
        let (path, row) = row.map_err(failed)?;
        read(consumer, ApiKeyId::from_uuid(path.value().1), row.value())
    }))
}

/// All descendants of this key, in any state, newest first.
pub(crate) fn descendants(
    keys: &impl Keys,
    consumer: MembershipId,
    id: ApiKeyId,
) -> Result<Vec<ApiKey>, StorageError> {
    let mut all = newest_first(keys, consumer, None)?.collect::<Result<Vec<_>, _>>()?;
    let mut key_tree = vec![id];
    let mut met = 0;
    while let Some(&parent) = key_tree.get(met) {
        let children = all.iter().filter(|key| key.effective_parent() == Some(parent));
        key_tree.extend(children.map(|key| key.id));
        met += 1;
    }
    all.retain(|key| key.id != id && key_tree.contains(&key.id));
    Ok(all)
}

/// The key's successor, if it is valid.
pub(crate) fn live_successor(
    keys: &impl Keys,
    key: &ApiKey,
    now: DateTime<Utc>,
) -> Result<Option<ApiKeyId>, StorageError> {
    let stored = key
        .rotated_to
        .map(|id| find(keys, key.consumer_id, id))
        .transpose()?;
    Ok(key.live_successor(stored.flatten().as_ref(), now))
}

/// How many keys are valid of this one and all that it came from. A store of many keys would not go through
/// those that are revoked: they may be any number.
pub(crate) fn valid_in_chain(
    keys: &impl Keys,
    consumer: MembershipId,
    last: Option<ApiKeyId>,
    now: DateTime<Utc>,
) -> Result<usize, StorageError> {
    let (mut valid, mut next) = (Vec::new(), last);
    while let Some(id) = next {
        let Some(key) = find(keys, consumer, id)? else {
            break;
        };
        next = key.effective_parent();
        if key.is_valid(now) {
            valid.push(key);
        }
    }
    Ok(ApiKey::depth_of(valid.iter()))
}

/// Which keys the consumer reaches; nothing unless it is a live member and, if it acts through a key, that is
/// one of its valid keys.
pub(crate) fn holder_reach(
    transaction: &WriteTransaction,
    keys: &impl Keys,
    consumer: MembershipId,
    acting_key: Option<ApiKeyId>,
    now: DateTime<Utc>,
) -> Result<Option<KeyReach>, StorageError> {
    let memberships = transaction.open_table(MEMBERSHIPS).map_err(failed)?;
    let membership = memberships.get(consumer.as_uuid()).map_err(failed)?;
    let is_live = match membership {
        Some(membership) => {
            let row = Row {
                table: "memberships",
                id: consumer.as_uuid(),
            };
            let (.., end) = membership.value();
            !is_over(row.end("end", end)?, now)
        }
        None => false,
    };
    match acting_key {
        Some(id) if is_live => {
            let key = find(keys, consumer, id)?.filter(|key| key.is_valid(now));
            Ok(key.map(|key| KeyReach::of_key(id, key.can_manage_keys)))
        }
        Some(_) | None => Ok(is_live.then_some(KeyReach::All)),
    }
}

/// Counts a change of the consumer's keys. If the change is refused later, this write is rolled back.
pub(crate) fn count_change(
    transaction: &WriteTransaction,
    consumer: MembershipId,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Result<(), Throttled>, StorageError> {
    let mut table = transaction.open_table(CHANGES).map_err(failed)?;
    let kept = table.get(consumer.as_uuid()).map_err(failed)?;
    let kept = kept.map(|moment| moment.value());
    let kept = kept.and_then(DateTime::from_timestamp_millis);
    match changes.admit(kept, at) {
        Ok(empty_at) => {
            let empty_at = empty_at.timestamp_millis();
            table.insert(consumer.as_uuid(), empty_at).map_err(failed)?;
            Ok(Ok(()))
        }
        Err(throttled) => Ok(Err(throttled)),
    }
}

/// Writes a key over its previous state.
pub(crate) fn put(
    keys: &mut redb::Table<'_, Path, KeyRow<'static>>,
    key: &ApiKey,
) -> Result<(), StorageError> {
    let origin = match key.origin {
        Origin::Console(user) => Actor::User(user),
        Origin::Key(parent) => Actor::ApiKey(parent),
    };
    let revocation = key.revocation.as_ref().map(
        |Revocation {
             end,
             by,
             reason,
             note,
         }| {
            let note = note.as_ref().map(RevocationNote::as_str);
            (end_row(*end), actor_reference(*by), reason.as_str(), note)
        },
    );
    let row = (
        key.hint.as_str(),
        key.name.as_str(),
        key.description.as_str(),
        key.can_manage_keys,
        actor_reference(origin),
        key.created_at.timestamp_millis(),
        revocation,
        (
            key.adoptive_parent_id.map(|key| key.as_uuid()),
            key.rotated_from.map(|key| key.as_uuid()),
            key.rotated_to.map(|key| key.as_uuid()),
        ),
    );
    let path = (key.consumer_id.as_uuid(), key.id.as_uuid());
    keys.insert(path, row).map_err(failed)?;
    Ok(())
}

fn read(consumer_id: MembershipId, id: ApiKeyId, stored: KeyRow<'_>) -> Result<ApiKey, StorageError> {
    let (hint, name, description, can_manage_keys, origin, created_at, revocation, relations) = stored;
    let row = Row {
        table: "api_keys",
        id: id.as_uuid(),
    };
    let origin = match row.actor("origin", origin)? {
        Actor::User(user) => Some(Origin::Console(user)),
        Actor::ApiKey(parent) => Some(Origin::Key(parent)),
        Actor::Administrator | Actor::System | Actor::Anonymous => None,
    };
    let revocation = revocation.map(|(end, by, reason, note)| {
        Ok(Revocation {
            end: row.known("revocation.end", row.end("revocation.end", Some(end))?)?,
            by: row.actor("revocation.by", by)?,
            reason: row.known("revocation.reason", RevocationReason::from_word(reason))?,
            note: row.valid(
                "revocation.note",
                note.map(RevocationNote::from_storage).transpose(),
            )?,
        })
    });
    Ok(ApiKey {
        id,
        consumer_id,
        hint: row.valid("hint", TokenHint::parse(hint))?,
        name: row.valid("name", KeyName::from_storage(name))?,
        description: row.valid("description", KeyDescription::from_storage(description))?,
        origin: row.known("origin", origin)?,
        adoptive_parent_id: relations.0.map(ApiKeyId::from_uuid),
        can_manage_keys,
        created_at: row.moment("created_at", created_at)?,
        revocation: revocation.transpose()?,
        // When keys are used is not kept here: the port for it is for those who want it.
        last_use: None,
        rotated_from: relations.1.map(ApiKeyId::from_uuid),
        rotated_to: relations.2.map(ApiKeyId::from_uuid),
    })
}
