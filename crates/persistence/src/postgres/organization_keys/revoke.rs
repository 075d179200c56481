//! Revoking many keys in one act.

use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::{KeySelection, RevokeKeysError};
use keyward_domain::api_key::{RevocationNote, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use uuid::Uuid;

use super::selection::{Selected, consumers_of, valid_of};
use crate::abort::Abort;
use crate::postgres::api_keys::revoke::revoke_locked;
use crate::postgres::authority::lock_authority;
use crate::postgres::schema::{api_keys, memberships};

pub(super) async fn revoke(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    selection: KeySelection,
    reason: RevocationReason,
    note: Option<RevocationNote>,
    act: Act,
) -> Result<Vec<ApiKeyId>, Abort<RevokeKeysError>> {
    if !lock_authority(connection, organization, act.actor).await? {
        return Err(Abort::Refused(RevokeKeysError::NotAllowed));
    }
    // No child is born to any of these keys, and no other revocation comes between, until this one is committed: that
    // takes the lock of the consumer.
    let consumers = consumers_of(connection, organization, &selection).await?;
    memberships::table
        .filter(memberships::id.eq_any(&consumers))
        .order(memberships::id)
        .select(memberships::id)
        .for_no_key_update()
        .load::<Uuid>(connection)
        .await?;
    let selected = Selected::new(connection, organization, selection).await?;
    let valid: Vec<Uuid> = api_keys::table
        .filter(valid_of(organization, &selected))
        .filter(api_keys::consumer_id.eq_any(&consumers))
        .order(api_keys::id)
        .select(api_keys::id)
        .for_no_key_update()
        .load(connection)
        .await?;
    Ok(revoke_locked(connection, valid, reason, note.as_ref(), &act).await?)
}
