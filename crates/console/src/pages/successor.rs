//! The state of a rotated key's successor.

use chrono::{DateTime, Utc};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::ApiKeyId;

use crate::reader::Member;
use crate::refusal::Refusal;

/// The key that takes the place of one of the viewer's, while it is valid.
pub(super) async fn live_successor(
    key: &ApiKey,
    member: &Member,
    now: DateTime<Utc>,
) -> Result<Option<ApiKeyId>, Refusal> {
    let Some(successor) = key.rotated_to else {
        return Ok(None);
    };
    let (keys, holder) = (&member.console.keys, member.holder());
    let found = keys.read_many(&holder, &[successor]).await?;
    Ok(key.live_successor(found.first(), now))
}
