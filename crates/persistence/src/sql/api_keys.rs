//! Keys, each with its consumer.
//!
//! The invariants of a consumer that span rows (the key limit, a parent that is valid when its child is
//! added, no key added below one that is being revoked, no change by a key whose revocation was answered, one
//! key for each form, one successor for each key) hold because `add`, `edit`, `rotate` and `revoke` lock the
//! consumer's membership row first: of one consumer, they run one after the other. Few at a time are under way
//! ([`key_change_turns`](crate::key_change_turns)).

mod add;
mod edit;
pub(crate) mod holder;
mod list;
mod read;
pub(crate) mod revoke;
mod rotate;
pub(crate) mod row;

pub(crate) use add::forget_idempotency_keys;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::prelude::{ExpressionMethods, NullableExpressionMethods, QueryDsl, SelectableHelper};
use diesel::sql_types::Bool;
use keyward_domain::api_key::{ApiKey, KeyEdit, KeyPrecondition, RevocationCause};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{
    AddKeyError, ApiKeys, DescendantKeys, EditKeyError, KeyFilter, KeyLimits, NewApiKey, NewRotation,
    RevokeKeyError, RotateKeyError, StorageError,
};
use keyward_domain::rate::Rate;
use tokio::time::Instant;

use super::dialect::{RunQueryDsl, Store, for_any_connection, listed, prepared_once, valid_from};
use super::schema::{api_keys, memberships};
use super::validity::key_is_valid;
use crate::abort::Abort;
use crate::claim::Claim;
use crate::columns::{StoredId, StoredMoment};
use crate::limit::one_more;
use row::KeyRow;

#[async_trait]
impl ApiKeys for Store {
    async fn add(&self, new: NewApiKey, limits: KeyLimits, act: Act) -> Result<ApiKey, AddKeyError> {
        let turn = self.key_change_turns.of_change(new.key.consumer_id, &act.actor);
        let (asked, at) = (new.clone(), act.at);
        let precheck = for_any_connection(move |connection| {
            Box::pin(async move { Abort::refusal_of(add::precheck(connection, asked, limits, at).await) })
        });
        let add = for_any_connection(move |connection| Box::pin(add::add(connection, new, limits, act)));
        self.change_unless_refused(turn, precheck, add).await
    }

    async fn find(&self, consumer: MembershipId, id: ApiKeyId) -> Result<Option<ApiKey>, StorageError> {
        read!(self, |connection| {
            let row = read::find_row(connection, consumer, id).await?;
            Ok(row.map(ApiKey::try_from).transpose()?)
        })
    }

    async fn find_many(&self, consumer: MembershipId, ids: &[ApiKeyId]) -> Result<Vec<ApiKey>, StorageError> {
        let ids = ids.to_vec();
        read!(self, |connection| {
            let rows: Vec<KeyRow> = api_keys::table
                .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
                .filter(listed(ids.iter().map(|id| id.as_uuid())))
                .select(KeyRow::as_select())
                .load(connection)
                .await?;
            let keys: Result<_, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
            Ok(keys?)
        })
    }

    async fn leaked_since(
        &self,
        consumer: MembershipId,
        since: DateTime<Utc>,
        size: PageSize,
    ) -> Result<Vec<ApiKey>, StorageError> {
        read!(self, |connection| {
            let consumer = StoredId(consumer.as_uuid());
            let organization = memberships::table
                .filter(memberships::id.eq(consumer))
                .select(memberships::organization_id)
                .single_value();
            // In the order of `api_keys_leaked_idx`, read backwards. The databases find its condition as a literal only.
            let keys = api_keys::table
                .filter(api_keys::organization_id.nullable().eq(organization))
                .filter(api_keys::consumer_id.eq(consumer))
                .filter(sql::<Bool>("revoked_reason = 'leak'"))
                .filter(api_keys::revoked_at.ge(StoredMoment::from(since)))
                .order((api_keys::revoked_at.desc(), api_keys::id.asc()))
                .limit(one_more(size))
                .select(KeyRow::as_select());
            let rows: Vec<KeyRow> = prepared_once(keys).load(connection).await?;
            let keys: Result<_, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
            Ok(keys?)
        })
    }

    async fn list(
        &self,
        consumer: MembershipId,
        filter: KeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ApiKey, ApiKeyId>, StorageError> {
        read!(self, list::list(consumer, filter, page, now))
    }

    async fn valid_descendants(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<Vec<ApiKey>, StorageError> {
        read!(self, |connection| {
            let found = valid_from(connection, &[consumer.as_uuid()], &[id.as_uuid()], now).await?;
            let rows: Vec<KeyRow> = api_keys::table
                .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
                .filter(key_is_valid(now.into()))
                .filter(api_keys::id.ne(StoredId(id.as_uuid())))
                .filter(listed(found.into_iter()))
                .order(api_keys::id.desc())
                .select(KeyRow::as_select())
                .load(connection)
                .await?;
            let keys: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
            Ok(keys?)
        })
    }

    async fn edit(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        edit: KeyEdit,
        precondition: KeyPrecondition,
        changes: Rate,
        act: Act,
    ) -> Result<ApiKey, EditKeyError> {
        let turn = self.key_change_turns.of_change(consumer, &act.actor);
        let (asked, to_meet, by) = (edit.clone(), precondition.clone(), act.clone());
        let precheck = for_any_connection(move |connection| {
            Box::pin(async move {
                Abort::refusal_of(edit::precheck(connection, consumer, id, asked, to_meet, changes, by).await)
            })
        });
        let edit = for_any_connection(move |connection| {
            Box::pin(edit::edit(
                connection,
                consumer,
                id,
                edit,
                precondition,
                changes,
                act,
            ))
        });
        self.change_unless_refused(turn, precheck, edit).await
    }

    async fn rotate(&self, new: NewRotation, changes: Rate, act: Act) -> Result<ApiKey, RotateKeyError> {
        let turn = self.key_change_turns.of_change(new.consumer_id, &act.actor);
        let (asked, asked_by) = (new.clone(), act.clone());
        let precheck = for_any_connection(move |connection| {
            Box::pin(async move {
                Abort::refusal_of(rotate::precheck(connection, asked, changes, asked_by).await)
            })
        });
        let rotate =
            for_any_connection(move |connection| Box::pin(rotate::rotate(connection, new, changes, act)));
        self.change_unless_refused(turn, precheck, rotate).await
    }

    async fn revoke(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        cause: RevocationCause,
        descendants: DescendantKeys,
        precondition: KeyPrecondition,
        act: Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
        let turn = self.key_change_turns.of_revocation(consumer, &act.actor);
        let (acting_key, at) = (act.actor.api_key(), act.at);
        let revoke = for_any_connection(move |connection| {
            Box::pin(revoke::revoke(
                connection,
                consumer,
                id,
                cause,
                descendants,
                precondition,
                act,
            ))
        });
        match descendants {
            DescendantKeys::Keep => {
                self.change_begun(Instant::now(), Some(turn), Claim::Revoking, revoke)
                    .await
            }
            // Whether there are any takes long to find out where many are revoked.
            DescendantKeys::Revoke => {
                let precheck = for_any_connection(move |connection| {
                    Box::pin(revoke::precheck_tree(connection, consumer, id, acting_key, at))
                });
                self.change_after_precheck(Some(turn), precheck, Claim::Revoking, revoke)
                    .await
            }
        }
    }
}
