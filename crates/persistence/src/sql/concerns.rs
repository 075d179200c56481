//! The entry of a transaction in the log of changes.

use std::collections::HashMap;

use diesel::QueryResult;
use diesel::prelude::QueryDsl;
use keyward_domain::access_changes::{Concern, Concerns};
use keyward_domain::id::{ApiKeyId, MembershipId};

use super::dialect::{Pipelined, RunQueryDsl, listed};
use super::schema::api_keys;
use crate::columns::StoredId;

/// The [summary](Concerns::summary) of the running transaction's changes. The consumers of keys are read only
/// if the keys are too many.
pub(crate) async fn summary(mut connection: Pipelined<'_>, noted: Concerns) -> QueryResult<Vec<Concern>> {
    let keys = noted.keys_too_many_to_list();
    if keys.is_empty() {
        return Ok(noted.summary(&HashMap::new()));
    }
    let consumers: Vec<(StoredId, StoredId)> = api_keys::table
        .filter(listed(keys.iter().map(ApiKeyId::as_uuid)))
        .select((api_keys::id, api_keys::consumer_id))
        .load(&mut connection)
        .await?;
    let consumers = consumers
        .into_iter()
        .map(|(key, consumer)| (ApiKeyId::from_uuid(key.0), MembershipId::from_uuid(consumer.0)))
        .collect();
    Ok(noted.summary(&consumers))
}
