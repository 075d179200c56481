//! Finding and listing keys.

use std::convert::Infallible;

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{KeyFilter, StatusFilter, StorageError};
use uuid::Uuid;

use super::row::KeyRow;
use crate::abort::Abort;
use crate::limit::one_more;
use crate::sqlite::columns::StoredId;
use crate::sqlite::organization_keys::selection::listed;
use crate::sqlite::schema::api_keys;
use crate::sqlite::search::instr;
use crate::sqlite::still_awaited::still_awaited;

pub(super) fn find(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<Option<ApiKey>, Abort<Infallible>> {
    let row: Option<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::id.eq(StoredId(id.as_uuid())))
        .select(KeyRow::as_select())
        .get_result(connection)
        .optional()?;
    Ok(row.map(ApiKey::try_from).transpose()?)
}

pub(super) fn find_many(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    ids: Vec<Uuid>,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(listed(ids.into_iter()))
        .select(KeyRow::as_select())
        .load(connection)?;
    let keys: Result<_, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}

pub(super) fn list(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    filter: KeyFilter,
    page: PageRequest<ApiKeyId>,
) -> Result<Page<ApiKey, ApiKeyId>, Abort<Infallible>> {
    let mut query = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .order(api_keys::id.desc())
        .limit(one_more(page.size))
        .select(KeyRow::as_select())
        .into_boxed();
    query = match filter.status() {
        StatusFilter::Valid => query.filter(api_keys::revoked_at.is_null()),
        StatusFilter::Revoked => query.filter(api_keys::revoked_at.is_not_null()),
        StatusFilter::All => query,
    };
    if let Some(after) = page.after {
        query = query.filter(api_keys::id.lt(StoredId(after.as_uuid())));
    }
    if let Some(term) = filter.term() {
        query = query
            .filter(still_awaited(api_keys::id))
            .filter(instr(api_keys::search_text, term).gt(0));
    }
    let rows: Vec<KeyRow> = query.load(connection)?;
    let keys: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(Page::from_one_more(keys?, page.size, |key| key.id))
}
