//! Keys, each with its consumer.
//!
//! The invariants of a consumer that span rows (the key limit, a parent that is valid when its child is added, no key
//! added below one that is being revoked, one key for each form) hold because changes come one after the other.

mod add;
mod edit;
mod holder;
pub(super) mod lineage;
mod list;
mod read;
pub(super) mod revoke;
pub(super) mod row;

use async_trait::async_trait;
use diesel::prelude::SqliteConnection;
use keyward_domain::api_key::{ApiKey, KeyEdit, KeyPrecondition, RevocationReason};
use keyward_domain::audit::{Act, AuditEvent};
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{
    AddKeyError, ApiKeys, DescendantKeys, EditKeyError, KeyFilter, KeyLimits, NewApiKey, RevokeKeyError,
    StorageError,
};
use keyward_domain::rate::Rate;
use uuid::Uuid;

use super::store::SqliteStore;
use crate::abort::Abort;
use crate::claim::Claim;

#[async_trait]
impl ApiKeys for SqliteStore {
    async fn add(&self, new: NewApiKey, limits: KeyLimits, act: Act) -> Result<ApiKey, AddKeyError> {
        let (asked, at) = (new.clone(), act.at);
        let look = move |connection: &mut SqliteConnection| {
            Abort::refusal_of(add::check(connection, &asked, limits, at))
        };
        self.change_blocking_after_look(look, Claim::Nothing, move |connection| {
            add::add(connection, new, limits, act)
        })
        .await
    }

    async fn find(&self, consumer: ConsumerId, id: ApiKeyId) -> Result<Option<ApiKey>, StorageError> {
        self.read_blocking(move |connection| read::find(connection, consumer, id))
            .await
    }

    async fn find_many(&self, consumer: ConsumerId, ids: &[ApiKeyId]) -> Result<Vec<ApiKey>, StorageError> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
        self.read_blocking(move |connection| read::find_many(connection, consumer, ids))
            .await
    }

    async fn list(
        &self,
        consumer: ConsumerId,
        filter: KeyFilter,
        page: PageRequest<ApiKeyId>,
    ) -> Result<Page<ApiKey, ApiKeyId>, StorageError> {
        self.read_blocking(move |connection| list::list(connection, consumer, filter, page))
            .await
    }

    async fn valid_descendants(
        &self,
        consumer: ConsumerId,
        id: ApiKeyId,
    ) -> Result<Vec<ApiKey>, StorageError> {
        self.read_blocking(move |connection| lineage::valid_descendants(connection, consumer, id))
            .await
    }

    async fn edit(
        &self,
        consumer: ConsumerId,
        id: ApiKeyId,
        edit: KeyEdit,
        precondition: KeyPrecondition,
        changes: Rate,
        event: AuditEvent,
    ) -> Result<ApiKey, EditKeyError> {
        let (asked, to_meet) = (event.clone(), precondition.clone());
        let look = move |connection: &mut SqliteConnection| {
            Abort::refusal_of(edit::check(connection, consumer, id, &to_meet, changes, &asked))
        };
        self.change_blocking_after_look(look, Claim::Nothing, move |connection| {
            edit::edit(connection, consumer, id, edit, precondition, changes, event)
        })
        .await
    }

    async fn revoke(
        &self,
        consumer: ConsumerId,
        id: ApiKeyId,
        reason: RevocationReason,
        descendants: DescendantKeys,
        precondition: KeyPrecondition,
        act: Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
        let acting_key = act.actor.api_key();
        let revoke = move |connection: &mut SqliteConnection| {
            revoke::revoke(connection, consumer, id, reason, descendants, precondition, act)
        };
        match descendants {
            DescendantKeys::Keep => self.change_blocking_with(Claim::Revoking, revoke).await,
            // Whether there are any takes long to find out where many are revoked.
            DescendantKeys::Revoke => {
                let look = move |connection: &mut SqliteConnection| {
                    Ok(revoke::look_at_tree(connection, consumer, id, acting_key)?.answer())
                };
                self.change_blocking_after_look(look, Claim::Revoking, revoke)
                    .await
            }
        }
    }
}
