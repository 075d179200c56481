//! Revoking many keys, a portion in each act.

use std::num::NonZeroU32;

use diesel::prelude::{QueryDsl, RunQueryDsl, SqliteConnection};
use keyward_domain::administration::ports::{KeySelection, RevokeKeysError};
use keyward_domain::api_key::{RevocationNote, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, OrganizationId};

use super::selection::{Selected, valid_of};
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::sqlite::api_keys::revoke::revoke_valid;
use crate::sqlite::authority::may_administer;
use crate::sqlite::schema::api_keys;

pub(super) fn revoke(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    selection: KeySelection,
    at_most: NonZeroU32,
    reason: RevocationReason,
    note: Option<&RevocationNote>,
    act: &Act,
) -> Result<Vec<ApiKeyId>, Abort<RevokeKeysError>> {
    if !may_administer(connection, organization, act.actor)? {
        return Err(Abort::Refused(RevokeKeysError::NotAllowed));
    }
    let selected = Selected::new(connection, organization, selection)?;
    let valid: Vec<StoredId> = api_keys::table
        .filter(valid_of(organization, &selected))
        .order(api_keys::id)
        .limit(i64::from(at_most.get()))
        .select(api_keys::id)
        .load(connection)?;
    Ok(revoke_valid(connection, &valid, reason, note, act)?)
}
