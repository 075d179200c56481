//! Finding keys, and what a revocation would end.

use std::collections::HashSet;
use std::convert::Infallible;

use diesel::dsl::{count_star, sql};
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel::sql_types::{BigInt, Text};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::{AtStake, HeldKey, KeyHolder, KeySelection, KeysAtStake};
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::ports::{DescendantKeys, StorageError};
use uuid::Uuid;

use super::selection::{Selected, organization_of_key, valid_of, valid_with_descendants};
use crate::abort::Abort;
use crate::limit::at_most;
use crate::postgres::api_keys::row::KeyRow;
use crate::postgres::people::{MembershipRow, UserRow};
use crate::postgres::schema::{api_keys, memberships, users};

pub(super) type HeldKeyRow = (KeyRow, MembershipRow, UserRow);

pub(super) async fn find(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    id: ApiKeyId,
) -> Result<Option<HeldKey>, Abort<Infallible>> {
    let mut found = named(connection, organization, vec![id.as_uuid()]).await?;
    Ok(found.pop())
}

pub(super) async fn at_stake(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    selection: KeySelection,
) -> Result<AtStake, Abort<Infallible>> {
    let descendants = match &selection {
        KeySelection::Keys {
            ids,
            descendants: DescendantKeys::Revoke,
        } => {
            let mut below = valid_with_descendants(connection, organization, ids).await?;
            let selected: HashSet<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
            below.retain(|key| !selected.contains(key));
            keys_at_stake(connection, organization, &Selected::Keys(below)).await?
        }
        KeySelection::Keys {
            descendants: DescendantKeys::Keep,
            ..
        }
        | KeySelection::OfConsumer(_)
        | KeySelection::IssuedBefore(_) => KeysAtStake::default(),
    };
    let selected = Selected::without_descendants(&selection);
    Ok(AtStake {
        selected: keys_at_stake(connection, organization, &selected).await?,
        descendants,
    })
}

async fn keys_at_stake(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    selected: &Selected,
) -> Result<KeysAtStake, Abort<Infallible>> {
    let (keys, holders): (i64, i64) = api_keys::table
        .filter(valid_of(organization, selected))
        .select((
            count_star(),
            sql::<BigInt>("count(DISTINCT api_keys.consumer_id)"),
        ))
        .get_result(connection)
        .await?;
    let former_members = memberships::table
        .filter(memberships::organization_id.eq(organization.as_uuid()))
        .filter(memberships::ended_at.is_not_null())
        .select(memberships::id);
    let without_access: i64 = api_keys::table
        .filter(valid_of(organization, selected))
        .filter(api_keys::consumer_id.eq_any(former_members))
        .count()
        .get_result(connection)
        .await?;
    let first: Vec<Uuid> = api_keys::table
        .filter(valid_of(organization, selected))
        // By code point, as everywhere.
        .order((sql::<Text>("api_keys.search_text COLLATE \"C\""), api_keys::id))
        .limit(at_most(KeysAtStake::SHOWN))
        .select(api_keys::id)
        .load(connection)
        .await?;
    let mut shown = named(connection, organization, first.clone()).await?;
    shown.sort_by_key(|key| first.iter().position(|id| *id == key.id.as_uuid()));
    let counted = |count| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(KeysAtStake {
        keys: counted(keys),
        without_access: counted(without_access),
        holders: counted(holders),
        first: shown,
    })
}

/// These keys of the organization.
pub(super) async fn named(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    ids: Vec<Uuid>,
) -> Result<Vec<HeldKey>, Abort<Infallible>> {
    let rows: Vec<HeldKeyRow> = api_keys::table
        .inner_join(memberships::table.inner_join(users::table))
        .filter(organization_of_key().eq(organization.as_uuid()))
        .filter(api_keys::id.eq_any(ids))
        .select(<HeldKeyRow as SelectableHelper<_>>::as_select())
        .load(connection)
        .await?;
    Ok(held(rows)?)
}

pub(super) fn held(rows: Vec<HeldKeyRow>) -> Result<Vec<HeldKey>, StorageError> {
    let held = |(key, membership, user): HeldKeyRow| {
        let holder = KeyHolder {
            user: user.try_into()?,
            membership: membership.try_into()?,
        };
        Ok(HeldKey::new(key.try_into()?, holder))
    };
    rows.into_iter().map(held).collect()
}
