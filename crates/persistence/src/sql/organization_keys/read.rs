//! Finding keys, and the preview of a revocation.

use std::collections::HashSet;
use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::{HeldKey, KeySelection, PreviewedKeys, RevocationPreview};
use keyward_domain::id::OrganizationId;
use keyward_domain::ports::{DescendantKeys, StorageError};
use uuid::Uuid;

use super::super::api_keys::row::KeyRow;
use super::super::dialect::{Connection, RunQueryDsl, cancellable, listed};
use super::super::people::{MembershipRow, UserRow, profile};
use super::super::schema::{api_keys, memberships, users};
use super::super::validity::membership_is_over;
use super::selection::{Selected, oldest_first, valid_with_descendants};
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit::{at_most, to_u32};

pub(super) type HeldKeyRow = (KeyRow, MembershipRow, UserRow);

pub(super) async fn revocation_preview(
    connection: &mut Connection,
    organization: OrganizationId,
    selection: KeySelection,
    now: DateTime<Utc>,
) -> Result<RevocationPreview, Abort<Infallible>> {
    let descendants = match &selection {
        KeySelection::Keys {
            ids,
            descendants: DescendantKeys::Revoke,
        } => {
            let mut below = valid_with_descendants(connection, organization, ids, now).await?;
            let selected: HashSet<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
            below.retain(|key| !selected.contains(key));
            preview_keys(connection, organization, &Selected::Keys(below), now).await?
        }
        KeySelection::Keys {
            descendants: DescendantKeys::Keep,
            ..
        }
        | KeySelection::OfConsumer(_)
        | KeySelection::IssuedBefore(_) => PreviewedKeys::default(),
    };
    let selected = Selected::without_descendants(&selection);
    Ok(RevocationPreview {
        selected: preview_keys(connection, organization, &selected, now).await?,
        descendants,
    })
}

async fn preview_keys(
    connection: &mut Connection,
    organization: OrganizationId,
    selected: &Selected,
    now: DateTime<Utc>,
) -> Result<PreviewedKeys, Abort<Infallible>> {
    let valid = oldest_first(organization, selected, now);
    // Enough to count them, each with its consumer and its searched text.
    let keys: Vec<(StoredId, StoredId, String)> = cancellable!(valid, api_keys::id)
        .select((api_keys::id, api_keys::consumer_id, api_keys::search_text))
        .limit(at_most(PreviewedKeys::COUNTED + 1))
        .load(connection)
        .await?;
    let counted = keys.iter().take(PreviewedKeys::COUNTED);
    let mut consumers: Vec<StoredId> = counted.map(|(_, consumer, _)| *consumer).collect();
    let former_members: Vec<StoredId> = memberships::table
        .filter(memberships::id.eq_any(consumers.iter().collect::<HashSet<_>>()))
        .filter(membership_is_over(now.into()))
        .select(memberships::id)
        .load(connection)
        .await?;
    let former_members: HashSet<StoredId> = former_members.into_iter().collect();
    consumers.retain(|consumer| former_members.contains(consumer));
    // The names are sorted by code points, whatever the database's collation.
    Ok(PreviewedKeys {
        without_access: to_u32(consumers.len()),
        ..previewed(connection, organization, keys, PreviewedKeys::SHOWN).await?
    })
}

/// Counts these keys and their consumers, at most [`PreviewedKeys::COUNTED`], and shows the first by rank.
/// Each key comes with its consumer and its rank.
pub(super) async fn previewed<R: Ord>(
    connection: &mut Connection,
    organization: OrganizationId,
    mut keys: Vec<(StoredId, StoredId, R)>,
    shown: usize,
) -> Result<PreviewedKeys, Abort<Infallible>> {
    let has_more = keys.len() > PreviewedKeys::COUNTED;
    keys.truncate(PreviewedKeys::COUNTED);
    let holders: HashSet<StoredId> = keys.iter().map(|(_, consumer, _)| *consumer).collect();
    keys.sort_unstable_by(|(id, _, rank), (other, _, other_rank)| (rank, id).cmp(&(other_rank, other)));
    let first: Vec<Uuid> = keys.iter().take(shown).map(|(id, ..)| id.0).collect();
    Ok(PreviewedKeys {
        keys: to_u32(keys.len()),
        has_more,
        without_access: 0,
        holders: to_u32(holders.len()),
        first: named_in_order(connection, organization, &first).await?,
    })
}

/// These keys of the organization, in this order.
pub(super) async fn named_in_order(
    connection: &mut Connection,
    organization: OrganizationId,
    ids: &[Uuid],
) -> Result<Vec<HeldKey>, Abort<Infallible>> {
    let mut keys = named(connection, organization, ids).await?;
    keys.sort_by_key(|key| ids.iter().position(|id| *id == key.id.as_uuid()));
    Ok(keys)
}

/// These keys of the organization.
pub(super) async fn named(
    connection: &mut Connection,
    organization: OrganizationId,
    ids: &[Uuid],
) -> Result<Vec<HeldKey>, Abort<Infallible>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<HeldKeyRow> = api_keys::table
        .inner_join(memberships::table.inner_join(users::table))
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(listed(ids.iter().copied()))
        .select(<HeldKeyRow as SelectableHelper<_>>::as_select())
        .load(connection)
        .await?;
    Ok(held(rows)?)
}

pub(super) fn held(rows: Vec<HeldKeyRow>) -> Result<Vec<HeldKey>, StorageError> {
    let held =
        |(key, membership, user): HeldKeyRow| Ok(HeldKey::new(key.try_into()?, profile((user, membership))?));
    rows.into_iter().map(held).collect()
}
