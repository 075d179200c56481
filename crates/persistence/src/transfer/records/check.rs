//! Reading imported rows through the domain: what it could not read back from a database is not taken into one.
//!
//! Each record is taken apart, so a column that nobody thought of here does not compile. What refers to other rows is left
//! to the database.

use std::fmt::Display;
use std::net::IpAddr;

use keyward_domain::api_key::{KeyDescription, KeyName, RevocationNote, RevocationReason};
use keyward_domain::audit::{Action, Outcome};
use keyward_domain::invitation::Invitee;
use keyward_domain::membership::Role;
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::ports::StorageError;
use keyward_domain::project::ProjectName;
use keyward_domain::token::TokenHint;
use keyward_domain::user::{DisplayName, Username};

use super::{
    ApiKey, AuditEvent, Installation, Invitation, Membership, Organization, Project, ProjectMember, Session,
    Throttle, User,
};
use crate::browser_key::read_browser_key;
use crate::stored_row::StoredRow;
use crate::transfer::columns::{Bytes, Id, Moment, Words};
use crate::{actor, subject};

/// SHA-256, and what is as long.
const DIGEST: usize = 32;
/// What a form sends once.
const NONCE: usize = 16;

impl Organization {
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self {
            id,
            slug,
            name,
            created_at,
            new_keys_manage_keys: _,
        } = self;
        let stored = StoredRow::new("organizations", id.uuid());
        stored.read("slug", Slug::parse(slug.as_str()))?;
        stored.read("name", OrganizationName::from_storage(name.as_str()))?;
        time(&stored, "created_at", Some(created_at))
    }
}

impl User {
    /// What a password hash may be is asked before.
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self {
            id,
            username,
            display_name,
            password_hash: _,
            created_at,
            search_text: _,
        } = self;
        let stored = StoredRow::new("users", id.uuid());
        stored.read("username", Username::parse(username.as_str()))?;
        stored.read("display_name", DisplayName::from_storage(display_name.as_str()))?;
        time(&stored, "created_at", Some(created_at))
    }
}

impl Membership {
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self {
            id,
            organization_id: _,
            user_id: _,
            role,
            joined_at,
            ended_at,
            keys_removed_at,
            changes_empty_at,
        } = self;
        let stored = StoredRow::new("memberships", id.uuid());
        stored.word("role", Role::from_word(role.as_str()))?;
        time(&stored, "joined_at", Some(joined_at))?;
        time(&stored, "ended_at", ended_at.as_ref())?;
        time(&stored, "keys_removed_at", keys_removed_at.as_ref())?;
        time(&stored, "changes_empty_at", changes_empty_at.as_ref())
    }
}

impl Invitation {
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self {
            id,
            organization_id: _,
            digest,
            invitee,
            role,
            invited_by_kind,
            invited_by_id,
            created_at,
            expires_at,
            accepted_at,
            accepted_membership_id,
            revoked_at,
            creation_nonce,
        } = self;
        let stored = StoredRow::new("invitations", id.uuid());
        length(&stored, "digest", Some(digest), DIGEST)?;
        stored.read("invitee", Invitee::from_storage(invitee.as_str()))?;
        stored.word("role", Role::from_word(role.as_str()))?;
        actor::from_columns(
            &stored,
            ("invited_by_kind", invited_by_kind.as_str()),
            ("invited_by_id", invited_by_id.map(Id::uuid)),
        )?;
        if accepted_at.is_none() {
            stored.nothing_unless::<()>("accepted_at", accepted_membership_id.is_some())?;
        } else {
            stored.present("accepted_membership_id", accepted_membership_id.as_ref())?;
            if revoked_at.is_some() {
                return Err(stored.corrupt("revoked_at", "a second end".to_owned()));
            }
        }
        length(&stored, "creation_nonce", creation_nonce.as_ref(), NONCE)?;
        time(&stored, "created_at", Some(created_at))?;
        time(&stored, "expires_at", Some(expires_at))?;
        time(&stored, "accepted_at", accepted_at.as_ref())?;
        time(&stored, "revoked_at", revoked_at.as_ref())
    }
}

impl Project {
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self {
            id,
            organization_id: _,
            name,
            search_text: _,
            created_at,
            archived_at,
        } = self;
        let stored = StoredRow::new("projects", id.uuid());
        stored.read("name", ProjectName::from_storage(name.as_str()))?;
        time(&stored, "created_at", Some(created_at))?;
        time(&stored, "archived_at", archived_at.as_ref())
    }
}

impl ProjectMember {
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self {
            membership_id,
            project_id: _,
            added_at,
        } = self;
        let stored = StoredRow::new("project_members", membership_id.uuid());
        time(&stored, "added_at", Some(added_at))
    }
}

impl ApiKey {
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self {
            id,
            consumer_id: _,
            digest,
            hint,
            name,
            description,
            search_text: _,
            created_by_user_id,
            created_by_key_id,
            creation_nonce,
            created_at,
            revoked_at,
            revoked_by_kind: _,
            revoked_by_id: _,
            revoked_reason: _,
            last_used_at,
            last_used_from,
            revoked_note: _,
            adopted_by_key_id: _,
            tree_depth,
            skip_key_id: _,
            can_manage_keys: _,
        } = self;
        let stored = StoredRow::new("api_keys", id.uuid());
        length(&stored, "digest", Some(digest), DIGEST)?;
        stored.read("hint", TokenHint::parse(hint.as_str()))?;
        stored.read("name", KeyName::from_storage(name.as_str()))?;
        stored.read("description", KeyDescription::from_storage(description.as_str()))?;
        match (created_by_user_id, created_by_key_id) {
            (Some(_), None) | (None, Some(_)) => {}
            (None, None) => stored.present("created_by_user_id", None)?,
            (Some(_), Some(_)) => {
                return Err(stored.corrupt("created_by_key_id", "a second origin".to_owned()));
            }
        }
        length(&stored, "creation_nonce", creation_nonce.as_ref(), NONCE)?;
        if tree_depth.is_negative() {
            return Err(stored.corrupt("tree_depth", "below 0".to_owned()));
        }
        match revoked_at {
            Some(revoked_at) => self.check_revocation(&stored, revoked_at)?,
            None => {
                let told = self.revoked_by_kind.is_some()
                    || self.revoked_by_id.is_some()
                    || self.revoked_reason.is_some()
                    || self.revoked_note.is_some();
                stored.nothing_unless::<()>("revoked_at", told)?;
            }
        }
        if last_used_at.is_none() {
            stored.nothing_unless::<()>("last_used_at", last_used_from.is_some())?;
        }
        address(&stored, "last_used_from", last_used_from.as_ref())?;
        time(&stored, "created_at", Some(created_at))?;
        time(&stored, "last_used_at", last_used_at.as_ref())
    }

    fn check_revocation(&self, stored: &StoredRow, revoked_at: &Moment) -> Result<(), StorageError> {
        let kind = stored.present("revoked_by_kind", self.revoked_by_kind.as_ref())?;
        let reason = stored.present("revoked_reason", self.revoked_reason.as_ref())?;
        actor::from_columns(
            stored,
            ("revoked_by_kind", kind.as_str()),
            ("revoked_by_id", self.revoked_by_id.map(Id::uuid)),
        )?;
        stored.word("revoked_reason", RevocationReason::from_word(reason.as_str()))?;
        if let Some(note) = &self.revoked_note {
            stored.read("revoked_note", RevocationNote::from_storage(note.as_str()))?;
        }
        time(stored, "revoked_at", Some(revoked_at))
    }
}

impl AuditEvent {
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self {
            id,
            occurred_at,
            organization_id: _,
            actor_kind,
            actor_id,
            action,
            subject_kind,
            subject_id,
            outcome,
            source_address,
            request_id: _,
            object_kind,
            object_id,
        } = self;
        let stored = StoredRow::new("audit_events", id.uuid());
        actor::from_columns(
            &stored,
            ("actor_kind", actor_kind.as_str()),
            ("actor_id", actor_id.map(Id::uuid)),
        )?;
        stored.word("action", Action::from_word(action.as_str()))?;
        subject::from_columns(
            &stored,
            ("subject_kind", subject_kind.as_str()),
            ("subject_id", subject_id.map(Id::uuid)),
        )?;
        match object_kind {
            Some(kind) => {
                let id = object_id.map(Id::uuid);
                subject::from_columns(&stored, ("object_kind", kind.as_str()), ("object_id", id))?;
            }
            None => {
                stored.nothing_unless::<()>("object_kind", object_id.is_some())?;
            }
        }
        stored.word("outcome", Outcome::from_word(outcome.as_str()))?;
        address(&stored, "source_address", source_address.as_ref())?;
        time(&stored, "occurred_at", Some(occurred_at))
    }
}

impl Session {
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self {
            id,
            user_id: _,
            digest,
            started_at,
            last_seen_at,
            started_from,
            user_agent: _,
        } = self;
        let stored = StoredRow::new("sessions", id.uuid());
        length(&stored, "digest", Some(digest), DIGEST)?;
        address(&stored, "started_from", started_from.as_ref())?;
        time(&stored, "started_at", Some(started_at))?;
        time(&stored, "last_seen_at", Some(last_seen_at))
    }
}

impl Throttle {
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self { bucket, empty_at } = self;
        let stored = StoredRow::new("sign_in_throttle", "that line");
        length(&stored, "bucket", Some(bucket), DIGEST)?;
        time(&stored, "empty_at", Some(empty_at))
    }
}

impl Installation {
    pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
        let Self {
            only_row: _,
            set_up_at,
            setup_link_digest,
            setup_link_expires_at,
            browser_key,
        } = self;
        let stored = StoredRow::new("installation", "the only row");
        length(&stored, "setup_link_digest", setup_link_digest.as_ref(), DIGEST)?;
        read_browser_key(browser_key.as_ref().map(|key| key.0.clone()))?;
        time(&stored, "set_up_at", set_up_at.as_ref())?;
        time(&stored, "setup_link_expires_at", setup_link_expires_at.as_ref())
    }
}

fn length(
    stored: &StoredRow<impl Display>,
    column: &'static str,
    bytes: Option<&Bytes>,
    expected: usize,
) -> Result<(), StorageError> {
    if bytes.is_none_or(|bytes| bytes.0.len() == expected) {
        Ok(())
    } else {
        Err(stored.corrupt(column, format!("not {expected} bytes long")))
    }
}

fn address(stored: &StoredRow, column: &'static str, text: Option<&Words>) -> Result<(), StorageError> {
    let address = text.map(|text| text.as_str().parse::<IpAddr>()).transpose();
    stored.read(column, address).map(drop)
}

/// A moment that RFC 3339 can write, with a year of four digits: answers say it so, and periods can be added to it.
fn time(
    stored: &StoredRow<impl Display>,
    column: &'static str,
    moment: Option<&Moment>,
) -> Result<(), StorageError> {
    if moment.is_none_or(|moment| (0..=9999).contains(&moment.year())) {
        Ok(())
    } else {
        Err(stored.corrupt(column, "not in the years 0 to 9999".to_owned()))
    }
}
