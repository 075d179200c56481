//! All storage ports together.

use crate::administration::ports::{
    InvitationStore, MemberStore, Names, OrganizationKeyStore, OrganizationStore, ProjectStore,
};
use crate::planned_ends::ports::PlannedEndStore;
use crate::ports::{
    AccessChanges, ApiKeys, AuditFeed, AuditLog, Credentials, LastUses, Memberships, ReachableProjects,
};
use crate::retention::ports::RetentionStore;
use crate::sign_in::ports::{
    AccountStore, InstallationStore, LimitedAuditLog, OpenInvitations, SessionStore, Throttle,
};

macro_rules! all_of {
    ($($port:ident),* $(,)?) => {
        /// All ports that a store of Keyward implements. A service with users and a sign-in of its own needs
        /// only four of these: see `testing::conformance::KeyStores`.
        pub trait StoragePorts: $($port +)* {}

        impl<S: $($port +)*> StoragePorts for S {}
    };
}

all_of!(
    AccessChanges,
    AccountStore,
    ApiKeys,
    AuditFeed,
    AuditLog,
    Credentials,
    InstallationStore,
    InvitationStore,
    LastUses,
    LimitedAuditLog,
    MemberStore,
    Memberships,
    Names,
    OpenInvitations,
    OrganizationKeyStore,
    OrganizationStore,
    PlannedEndStore,
    ProjectStore,
    ReachableProjects,
    RetentionStore,
    SessionStore,
    Throttle,
);
