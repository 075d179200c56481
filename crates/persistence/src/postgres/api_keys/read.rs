//! Finding and listing keys.

use std::convert::Infallible;

use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper, TextExpressionMethods};
use diesel::{OptionalExtension, QueryResult};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{KeyFilter, StatusFilter, StorageError};
use uuid::Uuid;

use super::row::KeyRow;
use crate::abort::Abort;
use crate::limit::one_more;
use crate::postgres::schema::api_keys;
use crate::postgres::search::containing;

pub(super) async fn find(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<Option<ApiKey>, Abort<Infallible>> {
    let row = find_row(connection, consumer, id).await?;
    Ok(row.map(ApiKey::try_from).transpose()?)
}

pub(super) async fn find_row(
    mut connection: &AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> QueryResult<Option<KeyRow>> {
    api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::id.eq(id.as_uuid()))
        .select(KeyRow::as_select())
        .get_result(&mut connection)
        .await
        .optional()
}

pub(super) async fn find_many(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    ids: Vec<Uuid>,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::id.eq_any(ids))
        .select(KeyRow::as_select())
        .load(connection)
        .await?;
    let keys: Result<_, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}

pub(super) async fn list(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    filter: KeyFilter,
    page: PageRequest<ApiKeyId>,
) -> Result<Page<ApiKey, ApiKeyId>, Abort<Infallible>> {
    let mut query = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
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
        query = query.filter(api_keys::id.lt(after.as_uuid()));
    }
    if let Some(term) = filter.term() {
        let Some(pattern) = containing(term) else {
            return Ok(Page::from_one_more(Vec::new(), page.size, |key: &ApiKey| key.id));
        };
        query = query.filter(api_keys::search_text.like(pattern));
    }
    let rows: QueryResult<Vec<KeyRow>> = query.load(connection).await;
    let keys: Result<Vec<ApiKey>, StorageError> = rows?.into_iter().map(ApiKey::try_from).collect();
    Ok(Page::from_one_more(keys?, page.size, |key| key.id))
}
