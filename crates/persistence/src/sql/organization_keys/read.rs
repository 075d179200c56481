//! Finding keys, and the preview of a revocation.

use std::collections::HashSet;
use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::dsl::{count_star, sql};
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel::sql_types::BigInt;
use keyward_domain::administration::ports::{
    HeldKey, HolderProfile, KeySelection, PreviewedKeys, RevocationPreview,
};
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::ports::{DescendantKeys, StorageError};
use uuid::Uuid;

use super::super::api_keys::row::KeyRow;
use super::super::dialect::{Connection, RunQueryDsl, cancellable, listed, texts_by_code_point};
use super::super::people::{MembershipRow, UserRow};
use super::super::schema::{api_keys, memberships, users};
use super::super::validity::membership_is_over;
use super::selection::{Selected, valid_of, valid_with_descendants};
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit::at_most;

pub(super) type HeldKeyRow = (KeyRow, MembershipRow, UserRow);

pub(super) async fn find(
    connection: &mut Connection,
    organization: OrganizationId,
    id: ApiKeyId,
) -> Result<Option<HeldKey>, Abort<Infallible>> {
    let mut found = named(connection, organization, &[id.as_uuid()]).await?;
    Ok(found.pop())
}

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
    let valid = || {
        cancellable!(
            api_keys::table.filter(valid_of(organization, selected, now)),
            api_keys::id
        )
    };
    let (keys, holders): (i64, i64) = valid()
        .select((
            count_star(),
            sql::<BigInt>("count(DISTINCT api_keys.consumer_id)"),
        ))
        .get_result(connection)
        .await?;
    let former_members = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(membership_is_over(now.into()))
        .select(memberships::id);
    let without_access: i64 = valid()
        .filter(api_keys::consumer_id.eq_any(former_members))
        .count()
        .get_result(connection)
        .await?;
    let first: Vec<StoredId> = valid()
        .order((texts_by_code_point(), api_keys::id))
        .limit(at_most(PreviewedKeys::SHOWN))
        .select(api_keys::id)
        .load(connection)
        .await?;
    let first: Vec<Uuid> = first.into_iter().map(|id| id.0).collect();
    let mut shown = named(connection, organization, &first).await?;
    shown.sort_by_key(|key| first.iter().position(|id| *id == key.id.as_uuid()));
    let to_u32 = |count| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(PreviewedKeys {
        keys: to_u32(keys),
        without_access: to_u32(without_access),
        holders: to_u32(holders),
        first: shown,
    })
}

/// These keys of the organization.
pub(super) async fn named(
    connection: &mut Connection,
    organization: OrganizationId,
    ids: &[Uuid],
) -> Result<Vec<HeldKey>, Abort<Infallible>> {
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
    let held = |(key, membership, user): HeldKeyRow| {
        let holder = HolderProfile {
            user: user.try_into()?,
            membership: membership.try_into()?,
        };
        Ok(HeldKey::new(key.try_into()?, holder))
    };
    rows.into_iter().map(held).collect()
}
