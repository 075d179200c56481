//! Which keys stop working when a membership ends.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::prelude::{QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::LeavingPreview;
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::ports::StorageError;

use super::super::api_keys::row::KeyRow;
use super::super::dialect::{Connection, RunQueryDsl, listed, valid_keys_of_member};
use super::super::schema::api_keys;
use crate::abort::Abort;
use crate::limit::at_most;
use crate::stored_row::count_or_zero;

pub(super) async fn preview(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    used_after: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<LeavingPreview<ApiKey>, Abort<Infallible>> {
    let shown = at_most(LeavingPreview::<ApiKey>::SHOWN);
    let valid = valid_keys_of_member(connection, organization, id, used_after, now, shown).await?;
    let rows: Vec<KeyRow> = api_keys::table
        .filter(listed(valid.first.iter().copied()))
        .select(KeyRow::as_select())
        .load(connection)
        .await?;
    let first: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    let mut first = first?;
    first.sort_by_key(|key| valid.first.iter().position(|id| *id == key.id.as_uuid()));
    Ok(LeavingPreview {
        keys: count_or_zero(Some(valid.keys)),
        recently_used: count_or_zero(Some(valid.recently_used)),
        first,
    })
}
