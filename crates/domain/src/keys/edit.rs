//! Editing a key.

use crate::api_key::{ApiKey, KeyEdit, KeyPrecondition};
use crate::audit::RequestSource;
use crate::holder::{Holder, KeyReach};
use crate::id::ApiKeyId;
use crate::keys::PersonalKeys;
use crate::ports::EditKeyError;

impl PersonalKeys {
    /// Edits one of the holder's keys and returns the result. An edit that changes nothing writes no event,
    /// but counts for the rate limit. When this returns, every server knows of a change of the planned end.
    ///
    /// # Errors
    /// [`EditKeyError::HolderGone`] if the holder's membership ended or their key was revoked since they proved who
    /// they are; [`EditKeyError::Throttled`] if they created and edited keys too often, in preference to all errors
    /// below; [`EditKeyError::NotFound`] also for a key out of the holder's [reach](Holder::reach);
    /// [`EditKeyError::Revoked`] and [`EditKeyError::PreconditionFailed`] even if nothing would change;
    /// [`EditKeyError::CannotExtendLife`] if the key that the holder acts through, or one whose successor is valid,
    /// would live longer; [`EditKeyError::InvalidExpiry`] if the new planned end has passed meanwhile.
    pub async fn edit(
        &self,
        holder: &Holder,
        id: ApiKeyId,
        edit: KeyEdit,
        precondition: KeyPrecondition,
        source: RequestSource,
    ) -> Result<ApiKey, EditKeyError> {
        if !holder.reach().includes(id) {
            return Err(EditKeyError::NotFound);
        }
        let act = holder.act(&self.sources, source);
        // A restricted key may edit itself, but leaves half of the limit: its thief must not keep its user from creating
        // keys.
        let changes = match holder.reach() {
            KeyReach::All => self.limits.changes,
            KeyReach::Only(_) => self.limits.changes.leaving_half(),
        };
        let changes_end = edit.expiry.is_some();
        let edited = self
            .keys
            .edit(holder.consumer().id, id, edit, precondition, changes, act)
            .await;
        // Also after one that changed nothing, or found that the end came: the first one may still be
        // waiting.
        if changes_end && let Ok(_) | Err(EditKeyError::HolderGone | EditKeyError::Revoked) = edited {
            self.to_all_servers.wait().await;
        }
        edited
    }
}
