//! Revoking many keys, a portion in each act.

use std::num::NonZeroU32;

use diesel::prelude::QueryDsl;
use keyward_domain::administration::ports::{KeySelection, RevokeKeysError};
use keyward_domain::api_key::{RevocationNote, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, OrganizationId};

use crate::abort::Abort;
use crate::columns::StoredId;
use crate::sqlite::dialect::{Connection, RunQueryDsl};
use crate::sqlite::schema::api_keys;
use crate::sqlite::sql::api_keys::revoke::revoke_valid;
use crate::sqlite::sql::authority::may_administer;
use crate::sqlite::sql::organization_keys::selection::{Selected, valid_of};

pub(in crate::sqlite) async fn revoke(
    connection: &mut Connection,
    organization: OrganizationId,
    selection: KeySelection,
    at_most: NonZeroU32,
    reason: RevocationReason,
    note: Option<RevocationNote>,
    act: Act,
) -> Result<Vec<ApiKeyId>, Abort<RevokeKeysError>> {
    if !may_administer(connection, organization, act.actor, act.at).await? {
        return Err(Abort::Refused(RevokeKeysError::NotAllowed));
    }
    let selected = Selected::new(connection, organization, selection, act.at).await?;
    let valid: Vec<StoredId> = api_keys::table
        .filter(valid_of(organization, &selected, act.at))
        .order(api_keys::id)
        .limit(i64::from(at_most.get()))
        .select(api_keys::id)
        .load(connection)
        .await?;
    let valid = valid.into_iter().map(|key| key.0).collect();
    Ok(revoke_valid(connection, valid, reason, note.as_ref(), &act).await?)
}
