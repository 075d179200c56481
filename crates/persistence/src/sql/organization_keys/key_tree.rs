//! A key with its key tree.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::administration::ports::{KeyTree, KeyTreeSize};
use keyward_domain::id::{ApiKeyId, OrganizationId};

use super::super::dialect::{Connection, RunQueryDsl, ancestor_chain, some_below, some_between, valid_from};
use super::super::schema::api_keys;
use super::read::named;
use super::selection::within;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::key_tree::shown_of_key_tree;

pub(super) async fn key_tree(
    connection: &mut Connection,
    organization: OrganizationId,
    id: ApiKeyId,
    size: KeyTreeSize,
    now: DateTime<Utc>,
) -> Result<KeyTree, Abort<Infallible>> {
    let consumer: Option<StoredId> = api_keys::table
        .filter(within(organization))
        .filter(api_keys::id.eq(StoredId(id.as_uuid())))
        .select(api_keys::consumer_id)
        .get_result(connection)
        .await
        .optional()?;
    let Some(StoredId(consumer)) = consumer else {
        return Ok(KeyTree::default());
    };
    // Limits that include the key itself and one more row, to detect a next page.
    let (most_of_chain, most) = (1 + usize::from(size.ancestors), usize::from(size.keys));
    let mut chain = ancestor_chain(connection, consumer, id.as_uuid(), most_of_chain + 1).await?;
    let is_cut_above = chain.len() > most_of_chain;
    chain.truncate(most_of_chain);
    let (top, depth) = chain.last().copied().unwrap_or((id.as_uuid(), 0));
    let below = some_below(connection, consumer, top, most + 1).await?;
    let is_cut_below = below.len() > most;
    let shown = if is_cut_below {
        let mut valid = valid_from(connection, &[consumer], &[top], now).await?;
        valid.truncate(most);
        let between = some_between(connection, consumer, &valid, depth, most).await?;
        shown_of_key_tree(&chain, valid, between, below, most)
    } else {
        below
    };
    let mut keys = named(connection, organization, &shown).await?;
    keys.sort_by_key(|key| key.id);
    Ok(KeyTree {
        keys,
        has_more: is_cut_above || is_cut_below,
    })
}
