//! Listing keys, and what belongs to them.

use std::collections::HashSet;
use std::convert::Infallible;

use diesel::dsl::{count_star, sql};
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl, RunQueryDsl,
    SelectableHelper, SqliteConnection,
};
use diesel::sql_types::BigInt;
use keyward_domain::administration::ports::{
    AtStake, HeldKey, HolderFilter, KeyHolder, KeySelection, KeysAtStake, OrganizationKeyFilter,
};
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{DescendantKeys, StatusFilter, StorageError};
use uuid::Uuid;

use super::selection::{Selected, listed, valid_of, valid_with_descendants};
use crate::abort::Abort;
use crate::limit::{at_most, one_more};
use crate::sqlite::api_keys::row::KeyRow;
use crate::sqlite::columns::StoredId;
use crate::sqlite::people::{MembershipRow, UserRow};
use crate::sqlite::schema::{api_keys, memberships, users};
use crate::sqlite::search::{coalesce, instr};
use crate::sqlite::still_awaited::still_awaited;

type HeldKeyRow = (KeyRow, MembershipRow, UserRow);

pub(super) fn list(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    filter: &OrganizationKeyFilter,
    page: PageRequest<ApiKeyId>,
) -> Result<Page<HeldKey, ApiKeyId>, Abort<Infallible>> {
    let mut query = api_keys::table
        .inner_join(memberships::table.inner_join(users::table))
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .order(api_keys::id.desc())
        // However few of them a filter lets through.
        .filter(still_awaited(api_keys::id))
        .limit(one_more(page.size))
        .select(<HeldKeyRow as SelectableHelper<_>>::as_select())
        .into_boxed();
    query = match filter.status {
        StatusFilter::Valid => query.filter(api_keys::revoked_at.is_null()),
        StatusFilter::Revoked => query.filter(api_keys::revoked_at.is_not_null()),
        StatusFilter::All => query,
    };
    query = match filter.holders {
        HolderFilter::Anybody => query,
        HolderFilter::Members => query.filter(memberships::ended_at.is_null()),
        HolderFilter::FormerMembers => query.filter(memberships::ended_at.is_not_null()),
    };
    if let Some(consumer) = filter.consumer {
        query = query.filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())));
    }
    if let Some(since) = filter.unused_since.map(|since| since.timestamp_millis()) {
        query = query
            .filter(api_keys::revoked_at.is_null())
            .filter(api_keys::created_at.lt(since))
            .filter(
                api_keys::last_used_at
                    .is_null()
                    .or(api_keys::last_used_at.lt(since).assume_not_null()),
            );
    }
    if let Some(after) = page.after {
        query = query.filter(api_keys::id.lt(StoredId(after.as_uuid())));
    }
    if let Some(term) = filter.term() {
        query = query.filter(
            instr(api_keys::search_text, term).gt(0).or(instr(
                coalesce(users::search_text, users::username),
                term,
            )
            .gt(0)),
        );
    }
    let keys = held(query.load(connection)?)?;
    Ok(Page::from_one_more(keys, page.size, |key| key.id))
}

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

fn held(rows: Vec<HeldKeyRow>) -> Result<Vec<HeldKey>, StorageError> {
    let held = |(key, membership, user): HeldKeyRow| {
        let holder = KeyHolder {
            user: user.try_into()?,
            membership: membership.try_into()?,
        };
        Ok(HeldKey::new(key.try_into()?, holder))
    };
    rows.into_iter().map(held).collect()
}
