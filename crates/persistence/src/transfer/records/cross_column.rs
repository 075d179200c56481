//! Rules across columns of imported rows, checked with the domain's types.

use keyward_domain::audit::{Actor, Subject};
use keyward_domain::ports::StorageError;

use super::check::Row;
use super::{ApiKey, AuditEvent, Invitation, Membership};

impl Membership {
    pub(super) fn check_across_columns(&self, row: &Row) -> Result<(), StorageError> {
        let came_without = self.ended_at.is_none() && self.end_came_at.is_some();
        row.nothing_unless::<()>("ended_at", came_without).map(drop)
    }
}

impl Invitation {
    pub(super) fn check_across_columns(&self, row: &Row) -> Result<(), StorageError> {
        let (kind, id) = (self.invited_by_kind.as_str(), self.invited_by_id.map(|id| id.0));
        row.reference(Actor::from_kind, ("invited_by_kind", kind), ("invited_by_id", id))?;
        if self.accepted_at.is_none() {
            return row
                .nothing_unless::<()>("accepted_at", self.accepted_membership_id.is_some())
                .map(drop);
        }
        row.present("accepted_membership_id", self.accepted_membership_id)?;
        match self.revoked_at {
            Some(_) => Err(row.corrupt("revoked_at", "a second end".to_owned())),
            None => Ok(()),
        }
    }
}

impl ApiKey {
    pub(super) fn check_across_columns(&self, row: &Row) -> Result<(), StorageError> {
        match (self.created_by_user_id, self.created_by_key_id) {
            (Some(_), None) | (None, Some(_)) => {}
            (None, None) => row.present("created_by_user_id", None)?,
            (Some(_), Some(_)) => return Err(row.corrupt("created_by_key_id", "a second origin".to_owned())),
        }
        if self.revoked_at.is_some() {
            let kind = row
                .present("revoked_by_kind", self.revoked_by_kind.as_ref())?
                .as_str();
            let id = self.revoked_by_id.map(|id| id.0);
            row.reference(Actor::from_kind, ("revoked_by_kind", kind), ("revoked_by_id", id))?;
            row.present("revoked_reason", self.revoked_reason.as_ref())?;
        } else {
            let is_described = self.revoked_by_kind.is_some()
                || self.revoked_by_id.is_some()
                || self.revoked_reason.is_some()
                || self.revoked_note.is_some()
                || self.end_came_at.is_some();
            row.nothing_unless::<()>("revoked_at", is_described)?;
        }
        let is_told_from = self.last_used_at.is_none() && self.last_used_from.is_some();
        row.nothing_unless::<()>("last_used_at", is_told_from).map(drop)
    }
}

impl AuditEvent {
    pub(super) fn check_across_columns(&self, row: &Row) -> Result<(), StorageError> {
        let (kind, id) = (self.actor_kind.as_str(), self.actor_id.map(|id| id.0));
        row.reference(Actor::from_kind, ("actor_kind", kind), ("actor_id", id))?;
        let (kind, id) = (self.subject_kind.as_str(), self.subject_id.map(|id| id.0));
        row.reference(Subject::from_kind, ("subject_kind", kind), ("subject_id", id))?;
        let id = self.object_id.map(|id| id.0);
        match &self.object_kind {
            Some(kind) => row
                .reference(
                    Subject::from_kind,
                    ("object_kind", kind.as_str()),
                    ("object_id", id),
                )
                .map(drop),
            None => row.nothing_unless::<()>("object_kind", id.is_some()).map(drop),
        }
    }
}
