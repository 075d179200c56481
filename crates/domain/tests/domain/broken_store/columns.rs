//! Columns that are not read as they were written.

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use keyward_domain::access::Credential;
use keyward_domain::administration::ports::HeldKey;
use keyward_domain::api_key::{ApiKey, KeyEdit, KeyName, Origin, Revocation, RevocationReason};
use keyward_domain::audit::{Actor, AuditEvent, Outcome};
use keyward_domain::id::{ApiKeyId, UserId};
use keyward_domain::keys::KeyDraft;
use keyward_domain::organization::OrganizationName;
use keyward_domain::testing::key_edits::one_by_one;
use keyward_domain::token::TokenHint;
use keyward_domain::validity::End;

use super::{BrokenStore, Fault, lock};

/// A column, by the value that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// One of [`blank_texts`], by its place.
    KeyText(usize),
    KeyHint,
    KeyOrigin,
    KeyAdoptiveParent,
    KeyRotatedFrom,
    KeyRotatedTo,
    KeyCreatedAt,
    KeyCanManageKeys,
    KeyRevokedAt,
    KeyRevokedBy,
    KeyRevocationReason,
    KeyRevocationNote,
    KeyLastUsedAt,
    KeyLastUsedFrom,
    EventAt,
    EventActor,
    EventObject,
    EventOldValue,
    EventNewValue,
    EventOutcome,
    EventAddress,
    EventRequestId,
    OrganizationName,
    OrganizationCreatedAt,
    OrganizationNewKeys,
    OrganizationKeyLife,
    UserDisplayName,
    UserCreatedAt,
    MembershipRole,
    MembershipJoinedAt,
    MembershipEndedAt,
    ProjectName,
    ProjectCreatedAt,
    ProjectArchivedAt,
    InvitationInvitee,
    InvitationRole,
    InvitationInvitedBy,
    InvitationCreatedAt,
    InvitationExpiresAt,
    SessionStartedAt,
    SessionLastSeenAt,
    SessionStartedFrom,
    SessionUserAgent,
    CredentialKeyCreatedAt,
    CredentialCanManageKeys,
    CredentialOrganizationName,
    CredentialRevokedAt,
    CredentialMembershipEndedAt,
}

impl BrokenStore {
    /// The key with the values that the fault makes the store remember in place of the stored ones.
    pub(super) fn as_told(&self, key: ApiKey) -> ApiKey {
        let mut key = key;
        key.can_manage_keys &= !lock(&self.restricted).contains(&key.id);
        if let Some(parent) = lock(&self.parents).get(&key.id) {
            key.origin = Origin::Key(*parent);
        }
        if self.fault == Fault::DropsRemovedAdoptiveParents {
            let is_kept = |id: &ApiKeyId| !lock(&self.removed_keys).contains(id);
            key.adoptive_parent_id = key.adoptive_parent_id.filter(is_kept);
        }
        if let (Some(revocation), Some(by)) = (
            key.revocation.as_mut(),
            lock(&self.revokers).get(&key.id).copied(),
        ) {
            revocation.by = by;
        }
        key
    }

    /// The column that the fault misreads, if any.
    pub(super) fn misread(&self) -> Option<Column> {
        match self.fault {
            Fault::Misreads(column) => Some(column),
            _ => None,
        }
    }

    /// The key that a reader gets.
    pub(super) fn as_read(&self, key: ApiKey) -> ApiKey {
        let mut key = self.as_told(key);
        key.can_manage_keys |= self.fault == Fault::LetsSuccessorsManageKeys && key.rotated_from.is_some();
        match self.misread() {
            Some(Column::KeyText(place)) => blank_text(&mut key, place),
            Some(Column::KeyHint) => key.hint = any_hint(),
            Some(Column::KeyOrigin) => key.origin = in_person(key.origin),
            Some(Column::KeyAdoptiveParent) => key.adoptive_parent_id = None,
            Some(Column::KeyRotatedFrom) => key.rotated_from = None,
            Some(Column::KeyRotatedTo) => key.rotated_to = None,
            Some(Column::KeyCreatedAt) => key.created_at = whole_seconds(key.created_at),
            Some(Column::KeyCanManageKeys) => key.can_manage_keys = true,
            _ => {}
        }
        if let Some(last) = &mut key.last_use {
            match self.misread() {
                Some(Column::KeyLastUsedAt) => last.at = whole_seconds(last.at),
                Some(Column::KeyLastUsedFrom) => last.from = None,
                _ => {}
            }
        }
        key.revocation = key
            .revocation
            .map(|revocation| self.revocation_as_read(revocation));
        key
    }

    /// The key that an owner gets.
    pub(super) fn held_as_read(&self, key: HeldKey) -> HeldKey {
        let mut key = self.held_as_told(key);
        let misread = match self.fault {
            Fault::Misreads(column) | Fault::MisreadsForOwners(column) => Some(column),
            _ => None,
        };
        match misread {
            Some(Column::KeyText(place)) => blank_text(&mut key, place),
            Some(Column::KeyHint) => key.hint = any_hint(),
            Some(Column::KeyOrigin) => key.origin = in_person(key.origin),
            Some(Column::KeyCreatedAt) => key.created_at = whole_seconds(key.created_at),
            Some(Column::KeyCanManageKeys) => key.can_manage_keys = true,
            _ => {}
        }
        if let Some(last) = &mut key.last_use {
            match misread {
                Some(Column::KeyLastUsedAt) => last.at = whole_seconds(last.at),
                Some(Column::KeyLastUsedFrom) => last.from = None,
                _ => {}
            }
        }
        let revocation = key.revocation.take();
        key.revocation = revocation.map(|revocation| self.revocation_as_read(revocation));
        key.holder = self.profile_as_read(key.holder);
        key
    }

    fn revocation_as_read(&self, revocation: Revocation) -> Revocation {
        let mut revocation = revocation;
        match self.misread() {
            Some(Column::KeyRevokedAt) => revocation.end = whole_end(revocation.end),
            Some(Column::KeyRevokedBy) => revocation.by = Actor::Administrator,
            Some(Column::KeyRevocationReason) => revocation.reason = RevocationReason::Holder,
            Some(Column::KeyRevocationNote) => revocation.note = None,
            _ => {}
        }
        revocation
    }

    /// The event that a reader gets.
    pub(super) fn event_as_read(&self, event: AuditEvent) -> AuditEvent {
        let mut event = event;
        match self.misread() {
            Some(Column::EventAt) => event.at = whole_seconds(event.at),
            Some(Column::EventActor) => event.actor = Actor::Anonymous,
            Some(Column::EventObject) => event.object = None,
            Some(Column::EventOldValue) => event.old_value = None,
            Some(Column::EventNewValue) => event.new_value = None,
            Some(Column::EventOutcome) => {
                event.outcome = match event.outcome {
                    Outcome::Success => Outcome::Refused,
                    Outcome::Refused => Outcome::Success,
                }
            }
            Some(Column::EventAddress) => event.source.address = None,
            Some(Column::EventRequestId) => event.source.request_id = None,
            _ => {}
        }
        event
    }

    pub(super) fn credential_as_read(&self, credential: Credential) -> Credential {
        let mut credential = credential;
        match self.misread() {
            Some(Column::CredentialKeyCreatedAt) => {
                credential.api_key.created_at = whole_seconds(credential.api_key.created_at);
            }
            Some(Column::CredentialCanManageKeys) => credential.api_key.can_manage_keys = true,
            Some(Column::CredentialOrganizationName) => {
                credential.organization.name = OrganizationName::parse("any").expect("a name");
            }
            Some(Column::CredentialRevokedAt) => {
                credential.key_end = credential.key_end.map(whole_end);
            }
            Some(Column::CredentialMembershipEndedAt) => {
                credential.membership_end = credential.membership_end.map(whole_end);
            }
            _ => {}
        }
        credential
    }
}

/// The edits by which a key loses each text that people may write about it; that of the name gives it another
/// one.
pub(crate) fn blank_texts() -> Vec<KeyEdit> {
    let name = KeyName::parse("any").expect("a name");
    one_by_one(KeyEdit::of_all_texts(KeyDraft::named(name)))
}

fn blank_text(key: &mut ApiKey, place: usize) {
    let (blank, by) = (&blank_texts()[place], Actor::Administrator);
    key.apply(blank, None, None, by).expect("a text can be edited");
}

fn any_hint() -> TokenHint {
    TokenHint::parse("kwp_…0000").expect("a hint")
}

/// The origin of a key that was created in the console.
fn in_person(origin: Origin) -> Origin {
    match origin {
        Origin::Console(user) => Origin::Console(user),
        Origin::Key(key) => Origin::Console(UserId::from_uuid(key.as_uuid())),
    }
}

pub(super) fn whole_end(end: End) -> End {
    match end {
        End::Planned(at) => End::Planned(whole_seconds(at)),
        End::Come(at) => End::Come(whole_seconds(at)),
    }
}

pub(super) fn whole_seconds(moment: DateTime<Utc>) -> DateTime<Utc> {
    moment
        .duration_trunc(TimeDelta::seconds(1))
        .expect("a moment of this age")
}
