//! A key among its relatives.

use std::convert::Infallible;

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use keyward_domain::administration::ports::{FamilySize, KeyFamily};
use keyward_domain::id::{ApiKeyId, OrganizationId};

use super::read::named;
use super::selection::within;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::lineage::shown_of_family;
use crate::sqlite::api_keys::lineage::{line_above, some_below, some_between, valid_from};
use crate::sqlite::schema::api_keys;

pub(super) fn family(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    id: ApiKeyId,
    size: FamilySize,
) -> Result<KeyFamily, Abort<Infallible>> {
    let consumer: Option<StoredId> = api_keys::table
        .filter(within(organization))
        .filter(api_keys::id.eq(StoredId(id.as_uuid())))
        .select(api_keys::consumer_id)
        .get_result(connection)
        .optional()?;
    let Some(consumer) = consumer else {
        return Ok(KeyFamily::default());
    };
    // The key itself, and one more, of everything.
    let (most_of_line, most) = (1 + usize::from(size.ancestors), usize::from(size.keys));
    let mut line = line_above(connection, consumer, id.as_uuid(), most_of_line + 1)?;
    let is_cut_above = line.len() > most_of_line;
    line.truncate(most_of_line);
    let (top, depth) = line.last().copied().unwrap_or((id.as_uuid(), 0));
    let below = some_below(connection, consumer, top, most + 1)?;
    let is_cut_below = below.len() > most;
    let shown = if is_cut_below {
        let mut valid = valid_from(connection, &[consumer], &[top])?;
        valid.truncate(most);
        let between = some_between(connection, consumer, &valid, depth, most)?;
        shown_of_family(&line, valid, between, below, most)
    } else {
        below
    };
    let shown: Vec<StoredId> = shown.into_iter().map(StoredId).collect();
    let mut keys = named(connection, organization, &shown)?;
    keys.sort_by_key(|key| key.id);
    Ok(KeyFamily {
        keys,
        has_more: is_cut_above || is_cut_below,
    })
}
