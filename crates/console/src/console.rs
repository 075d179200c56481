//! The console and what it works with.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::administration::ports::Names;
use keyward_domain::administration::{
    AuditTrail, Invitations, Members, OrganizationKeys, Organizations, Projects,
};
use keyward_domain::keys::PersonalKeys;
use keyward_domain::ports::{Memberships, ReachableProjects};
use keyward_domain::public_url::PublicUrl;
use keyward_domain::sign_in::{Joining, OwnAccount, Setup, SignIn};
use keyward_domain::sources::Sources;

/// The console and what it works with.
#[derive(Clone)]
pub struct Console {
    /// The first run.
    pub setup: Setup,
    /// Signing in and out, and who is signed in.
    pub sign_in: SignIn,
    /// Who belongs to which organization.
    pub memberships: Arc<dyn Memberships>,
    /// Use cases of the viewer's own keys.
    pub keys: PersonalKeys,
    /// What people in an organization are called, to tell holders who revoked their keys.
    pub names: Arc<dyn Names>,
    /// What a member works on.
    pub reachable_projects: Arc<dyn ReachableProjects>,
    /// What owners choose for their organization.
    pub organizations: Organizations,
    /// Members, as owners manage them, and leaving.
    pub members: Members,
    /// Invitations, as owners make them.
    pub invitations: Invitations,
    /// Projects, as owners run them.
    pub projects: Projects,
    /// Joining with an invitation.
    pub joining: Joining,
    /// The keys of whole organizations, for their owners.
    pub organization_keys: OrganizationKeys,
    /// What happened in an organization.
    pub audit_trail: AuditTrail,
    /// For how long its events are kept; for ever if none.
    pub audit_events_kept_for: Option<TimeDelta>,
    /// A user's own sessions and password.
    pub own_account: OwnAccount,
    /// What prints a setup link, run on the server. Pages show it to anybody until the setup is complete.
    pub setup_command: String,
    /// Where people reach this installation.
    pub public_url: PublicUrl,
    /// The time at which pages judge what is valid, and the randomness of their forms' idempotency keys.
    pub sources: Sources,
}
