//! Listing keys, and what belongs to them.

use std::collections::HashSet;
use std::convert::Infallible;

use diesel::dsl::{count_star, sql};
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl, SelectableHelper,
    TextExpressionMethods,
};
use diesel::sql_types::{BigInt, Text};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::{
    AtStake, HeldKey, HolderFilter, KeyHolder, KeySelection, KeysAtStake, OrganizationKeyFilter,
};
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{DescendantKeys, StatusFilter, StorageError};
use uuid::Uuid;

use super::selection::{Selected, organization_of_key, valid_of, valid_with_descendants};
use crate::abort::Abort;
use crate::limit::{at_most, one_more};
use crate::postgres::api_keys::row::KeyRow;
use crate::postgres::people::{MembershipRow, UserRow};
use crate::postgres::schema::{api_keys, memberships, users};
use crate::postgres::search::{coalesce, containing};

type HeldKeyRow = (KeyRow, MembershipRow, UserRow);

pub(super) async fn list(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    filter: OrganizationKeyFilter,
    page: PageRequest<ApiKeyId>,
) -> Result<Page<HeldKey, ApiKeyId>, Abort<Infallible>> {
    let mut query = api_keys::table
        .inner_join(memberships::table.inner_join(users::table))
        // Equal, but said so that PostgreSQL cannot take the order for one by identifier alone: it would go through the keys
        // of all organizations, newest first, where it expects to meet enough of this one soon.
        .filter(organization_of_key().between(organization.as_uuid(), organization.as_uuid()))
        .order((organization_of_key().desc(), api_keys::id.desc()))
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
        query = query.filter(api_keys::consumer_id.eq(consumer.as_uuid()));
    }
    if let Some(since) = filter.unused_since {
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
        query = query.filter(api_keys::id.lt(after.as_uuid()));
    }
    if let Some(term) = filter.term() {
        let Some(pattern) = containing(term) else {
            return Ok(Page::from_one_more(Vec::new(), page.size, |key: &HeldKey| key.id));
        };
        query = query.filter(
            api_keys::search_text
                .like(pattern.clone())
                .or(coalesce(users::search_text, users::username).like(pattern)),
        );
    }
    let keys = held(query.load(connection).await?)?;
    Ok(Page::from_one_more(keys, page.size, |key| key.id))
}

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
