//! Finding keys, and what a revocation would end.

use std::collections::HashSet;
use std::convert::Infallible;

use diesel::dsl::{count_star, sql};
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use diesel::sql_types::BigInt;
use keyward_domain::administration::ports::{AtStake, HeldKey, KeyHolder, KeySelection, KeysAtStake};
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::ports::{DescendantKeys, StorageError};
use uuid::Uuid;

use super::selection::{Selected, listed, valid_of, valid_with_descendants};
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit::at_most;
use crate::sqlite::api_keys::row::KeyRow;
use crate::sqlite::people::{MembershipRow, UserRow};
use crate::sqlite::schema::{api_keys, memberships, users};
use crate::sqlite::still_awaited::still_awaited;

pub(super) type HeldKeyRow = (KeyRow, MembershipRow, UserRow);

pub(super) fn find(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    id: ApiKeyId,
) -> Result<Option<HeldKey>, Abort<Infallible>> {
    let mut found = named(connection, organization, &[StoredId(id.as_uuid())])?;
    Ok(found.pop())
}

pub(super) fn at_stake(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    selection: KeySelection,
) -> Result<AtStake, Abort<Infallible>> {
    let descendants = match &selection {
        KeySelection::Keys {
            ids,
            descendants: DescendantKeys::Revoke,
        } => {
            let mut below = valid_with_descendants(connection, organization, ids)?;
            let selected: HashSet<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
            below.retain(|key| !selected.contains(key));
            keys_at_stake(connection, organization, &Selected::Keys(below))?
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
        selected: keys_at_stake(connection, organization, &selected)?,
        descendants,
    })
}

fn keys_at_stake(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    selected: &Selected,
) -> Result<KeysAtStake, Abort<Infallible>> {
    let (keys, holders): (i64, i64) = api_keys::table
        .filter(valid_of(organization, selected))
        .filter(still_awaited(api_keys::id))
        .select((
            count_star(),
            sql::<BigInt>("count(DISTINCT api_keys.consumer_id)"),
        ))
        .get_result(connection)?;
    let former_members = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(memberships::ended_at.is_not_null())
        .select(memberships::id);
    let without_access: i64 = api_keys::table
        .filter(valid_of(organization, selected))
        .filter(still_awaited(api_keys::id))
        .filter(api_keys::consumer_id.eq_any(former_members))
        .count()
        .get_result(connection)?;
    let first: Vec<StoredId> = api_keys::table
        .filter(valid_of(organization, selected))
        .filter(still_awaited(api_keys::id))
        .order((api_keys::search_text, api_keys::id))
        .limit(at_most(KeysAtStake::SHOWN))
        .select(api_keys::id)
        .load(connection)?;
    let mut shown = named(connection, organization, &first)?;
    shown.sort_by_key(|key| first.iter().position(|id| id.0 == key.id.as_uuid()));
    let counted = |count| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(KeysAtStake {
        keys: counted(keys),
        without_access: counted(without_access),
        holders: counted(holders),
        first: shown,
    })
}

/// These keys of the organization.
pub(super) fn named(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    ids: &[StoredId],
) -> Result<Vec<HeldKey>, Abort<Infallible>> {
    let rows: Vec<HeldKeyRow> = api_keys::table
        .inner_join(memberships::table.inner_join(users::table))
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(listed(ids.iter().map(|id| id.0)))
        .select(<HeldKeyRow as SelectableHelper<_>>::as_select())
        .load(connection)?;
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
