//! Named subjects, grouped by the table that stores the name.

use std::collections::{BTreeMap, BTreeSet};

use keyward_domain::audit::Subject;
use keyward_domain::id::{ApiKeyId, InvitationId, MembershipId, OrganizationId, ProjectId, UserId};
use uuid::Uuid;

/// A kind of subject that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Organization,
    User,
    Membership,
    Invitation,
    Project,
    ApiKey,
}

impl Kind {
    /// In the order of [`Names::find_subject`](keyward_domain::administration::ports::Names::find_subject).
    pub(crate) const OF_IDENTIFIERS: [Self; 6] = [
        Self::ApiKey,
        Self::Membership,
        Self::User,
        Self::Project,
        Self::Invitation,
        Self::Organization,
    ];

    const fn of(subject: Subject) -> Option<Self> {
        match subject {
            Subject::Organization(_) => Some(Self::Organization),
            Subject::User(_) => Some(Self::User),
            Subject::Membership(_) => Some(Self::Membership),
            Subject::Invitation(_) => Some(Self::Invitation),
            Subject::Project(_) => Some(Self::Project),
            Subject::ApiKey(_) => Some(Self::ApiKey),
            Subject::Session(_) | Subject::Other { .. } | Subject::Installation => None,
        }
    }

    /// The label of this kind in statements that query several.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Organization => "organization",
            Self::User => "user",
            Self::Membership => "membership",
            Self::Invitation => "invitation",
            Self::Project => "project",
            Self::ApiKey => "api_key",
        }
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::OF_IDENTIFIERS.into_iter().find(|kind| kind.word() == word)
    }

    pub(crate) const fn subject(self, id: Uuid) -> Subject {
        match self {
            Self::Organization => Subject::Organization(OrganizationId::from_uuid(id)),
            Self::User => Subject::User(UserId::from_uuid(id)),
            Self::Membership => Subject::Membership(MembershipId::from_uuid(id)),
            Self::Invitation => Subject::Invitation(InvitationId::from_uuid(id)),
            Self::Project => Subject::Project(ProjectId::from_uuid(id)),
            Self::ApiKey => Subject::ApiKey(ApiKeyId::from_uuid(id)),
        }
    }
}

/// The requested identifiers, without duplicates, by kind.
#[derive(Clone)]
pub(crate) struct NamedIds(BTreeMap<Kind, Vec<Uuid>>);

impl NamedIds {
    pub(crate) fn of(subjects: &[Subject]) -> Self {
        let mut ids: BTreeMap<Kind, BTreeSet<Uuid>> = BTreeMap::new();
        for subject in subjects {
            if let (Some(kind), Some(id)) = (Kind::of(*subject), subject.id()) {
                ids.entry(kind).or_default().insert(id);
            }
        }
        let listed = ids
            .into_iter()
            .map(|(kind, ids)| (kind, ids.into_iter().collect()));
        Self(listed.collect())
    }

    pub(crate) fn of_kind(&self, kind: Kind) -> &[Uuid] {
        self.0.get(&kind).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
