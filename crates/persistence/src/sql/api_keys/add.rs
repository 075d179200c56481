//! Adding a key.

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel::{OptionalExtension, QueryResult};
use keyward_domain::api_key::{ApiKey, LongestLife};
use keyward_domain::audit::Act;
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::keys::{FirstUse, IdempotencyKey, Repetition, RequestDigest};
use keyward_domain::ports::{AddKeyError, KeyLimits, NewApiKey, StorageError};

use super::super::dialect::{
    Connection, Database, Pipelined, RunQueryDsl, begin_request, begin_unless, listed, pipeline,
    valid_in_chain,
};
use super::super::events::write_event;
use super::super::people::longest_life;
use super::super::schema::{api_keys, memberships, organizations};
use super::super::validity::key_is_valid;
use super::holder::{Changer, changer, lock_changer};
use super::row::NewKeyRow;
use crate::abort::Abort;
use crate::columns::{StoredFlag, StoredId, StoredMoment, StoredNumber};
use crate::stored_row::StoredRow;

pub(super) const MAX_TREE_DEPTH: i64 = ApiKey::MAX_TREE_DEPTH as i64;

pub(super) async fn add(
    connection: &mut Connection,
    new: NewApiKey,
    limits: KeyLimits,
    act: Act,
) -> Result<ApiKey, Abort<AddKeyError>> {
    let consumer = new.key.consumer_id;
    let begun = begin_request(connection, consumer, new.idempotency_key).await?;
    let begun = begun.ok_or(Abort::Refused(AddKeyError::InProgress))?;
    // Under the lock, no other transaction adds or revokes keys of this consumer, so what the checks read
    // stays true.
    let ((), changer, first, valid, chosen) = pipeline!(
        connection,
        begin_unless(begun, connection),
        lock_changer(connection, consumer, new.key.parent(), limits.changes, act.at),
        created_with(connection, consumer, new.idempotency_key),
        valid_keys(connection, consumer, act.at),
        chosen_for_new_keys(connection, consumer),
    );
    let act = act.at_current_time();
    let forgotten = first.as_ref().map(|first| first.id);
    check(connection, &new, limits, changer, first, valid, act.at).await?;
    // The earlier use is so old that its idempotency key may be used again, although retention has not
    // removed it yet.
    if let Some(forgotten) = forgotten {
        forget_idempotency_keys(connection, vec![forgotten]).await?;
    }
    let mut new = new;
    if let Some(chosen) = chosen {
        chosen.apply_to(&mut new)?;
    }
    pipeline!(
        connection,
        insert(connection, &new),
        write_event(connection, act.creation_of_key(&new.key)),
    );
    Ok(new.key)
}

/// The checks before adding a key, without a lock.
pub(super) async fn precheck(
    connection: &mut Connection,
    new: NewApiKey,
    limits: KeyLimits,
    at: DateTime<Utc>,
) -> Result<(), Abort<AddKeyError>> {
    let consumer = new.key.consumer_id;
    let (changer, first, valid) = pipeline!(
        connection,
        changer(connection, consumer, new.key.parent(), limits.changes, at),
        created_with(connection, consumer, new.idempotency_key),
        valid_keys(connection, consumer, at),
    );
    check(connection, &new, limits, changer, first, valid, at).await
}

async fn check(
    connection: &mut Connection,
    new: &NewApiKey,
    limits: KeyLimits,
    changer: Option<Changer>,
    first: Option<FirstKey>,
    valid: i64,
    at: DateTime<Utc>,
) -> Result<(), Abort<AddKeyError>> {
    let changer = changer.filter(|changer| changer.may_act(at));
    let changer = changer.ok_or(Abort::Refused(AddKeyError::HolderGone))?;
    if changer.reach != KeyReach::All {
        return Err(Abort::Refused(AddKeyError::MayNotManageKeys));
    }
    let refused = |throttled| Abort::Refused(AddKeyError::Throttled(throttled));
    changer.room.map_err(refused)?;
    match repetition(first, new.idempotency_key, at)? {
        Some((id, Repetition::Same)) => return Err(Abort::Refused(AddKeyError::AlreadyCreated(id))),
        Some((_, Repetition::Different)) => return Err(Abort::Refused(AddKeyError::IdempotencyKeyReused)),
        Some((_, Repetition::Forgotten)) | None => {}
    }
    let (consumer, limit) = (new.key.consumer_id, i64::from(limits.valid.0));
    // Few consumers come near the limit, so only there the keys are counted again, without those that ended
    // while the change waited for the lock, and without the pairs.
    if valid >= limit
        && valid_keys(connection, consumer, at).await? - rotated_pairs(connection, consumer, at).await?
            >= limit
    {
        return Err(Abort::Refused(AddKeyError::LimitReached(limits.valid)));
    }
    // A key tree has at most as many valid keys as the consumer, so the depth is checked only beyond that.
    if let Some(parent) = new.key.parent()
        && valid >= MAX_TREE_DEPTH
        && valid_in_chain(connection, consumer, parent, at).await? >= MAX_TREE_DEPTH
    {
        return Err(Abort::Refused(AddKeyError::TreeTooDeep));
    }
    let checked = new.check_expiry(at);
    checked.map_err(|error| Abort::Refused(error.into()))
}

pub(super) async fn insert(mut connection: Pipelined<'_>, new: &NewApiKey) -> QueryResult<()> {
    diesel::insert_into(api_keys::table)
        .values(NewKeyRow::new(new))
        .execute(&mut connection)
        .await?;
    Ok(())
}

/// An organization's settings for new keys.
#[derive(Queryable)]
pub(super) struct ChosenForNewKeys {
    organization: StoredId,
    manage_keys: StoredFlag,
    longest_life_days: Option<StoredNumber>,
}

impl ChosenForNewKeys {
    fn apply_to(self, new: &mut NewApiKey) -> Result<(), Abort<AddKeyError>> {
        if new.organization_decides {
            new.key.can_manage_keys = self.manage_keys.0;
        }
        let limited = new.key.limit_life(self.longest_life()?);
        limited.map_err(|error| Abort::Refused(error.into()))
    }

    pub(super) fn longest_life(&self) -> Result<Option<LongestLife>, StorageError> {
        let stored = StoredRow::new("organizations", self.organization.0);
        longest_life(&stored, self.longest_life_days)
    }
}

/// The settings for new keys of the consumer's organization; `None` for an unknown consumer.
pub(super) async fn chosen_for_new_keys(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
) -> QueryResult<Option<ChosenForNewKeys>> {
    memberships::table
        .inner_join(organizations::table)
        .filter(memberships::id.eq(StoredId(consumer.as_uuid())))
        .select((
            organizations::id,
            organizations::new_keys_manage_keys,
            organizations::longest_key_life_days,
        ))
        .get_result(&mut connection)
        .await
        .optional()
}

/// The key that was created with an idempotency key before.
#[derive(Queryable, Selectable)]
#[diesel(table_name = api_keys, check_for_backend(Database))]
pub(super) struct FirstKey {
    pub(super) id: StoredId,
    request_digest: Option<Vec<u8>>,
    created_at: StoredMoment,
}

impl TryFrom<FirstKey> for FirstUse {
    type Error = StorageError;

    fn try_from(row: FirstKey) -> Result<Self, StorageError> {
        let stored = StoredRow::new("api_keys", row.id.0);
        let request = row
            .request_digest
            .map(|bytes| <[u8; 16]>::try_from(bytes.as_slice()));
        let request = stored.read("request_digest", request.transpose())?;
        Ok(Self {
            request: request.map(RequestDigest::from_bytes),
            at: stored.moment("created_at", row.created_at)?,
        })
    }
}

pub(super) async fn created_with(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
    idempotency_key: Option<IdempotencyKey>,
) -> QueryResult<Option<FirstKey>> {
    let Some(key) = idempotency_key else {
        return Ok(None);
    };
    api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::idempotency_key.eq(key.to_bytes().to_vec()))
        .select(FirstKey::as_select())
        .get_result(&mut connection)
        .await
        .optional()
}

/// The present meaning of the earlier use of an idempotency key, and the key that it created.
pub(super) fn repetition(
    first: Option<FirstKey>,
    key: Option<IdempotencyKey>,
    at: DateTime<Utc>,
) -> Result<Option<(ApiKeyId, Repetition)>, StorageError> {
    let Some((first, key)) = first.zip(key) else {
        return Ok(None);
    };
    let id = ApiKeyId::from_uuid(first.id.0);
    Ok(Some((id, key.repeats(first.try_into()?, at))))
}

/// Forgets the idempotency keys with which these keys were created.
pub(crate) async fn forget_idempotency_keys(
    connection: &mut Connection,
    created: Vec<StoredId>,
) -> QueryResult<usize> {
    diesel::update(api_keys::table.filter(api_keys::id.eq_any(created)))
        .set((
            api_keys::idempotency_key.eq(None::<Vec<u8>>),
            api_keys::request_digest.eq(None::<Vec<u8>>),
        ))
        .execute(connection)
        .await
}

async fn valid_keys(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
    at: DateTime<Utc>,
) -> QueryResult<i64> {
    api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(key_is_valid(at.into()))
        .count()
        .get_result(&mut connection)
        .await
}

/// How many valid keys of the consumer have a valid successor.
async fn rotated_pairs(
    connection: &mut Connection,
    consumer: MembershipId,
    at: DateTime<Utc>,
) -> QueryResult<i64> {
    let successors: Vec<Option<StoredId>> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::rotated_to_key_id.is_not_null())
        .filter(key_is_valid(at.into()))
        .select(api_keys::rotated_to_key_id)
        .load(connection)
        .await?;
    api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(listed(successors.into_iter().flatten().map(|id| id.0)))
        .filter(key_is_valid(at.into()))
        .count()
        .get_result(connection)
        .await
}
