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
    /// The use case of the first-run setup.
    pub setup: Setup,
    /// Signing in and out, and who is signed in.
    pub sign_in: SignIn,
    /// The memberships of users.
    pub memberships: Arc<dyn Memberships>,
    /// Use cases of the viewer's own keys.
    pub keys: PersonalKeys,
    /// The names of people in an organization, such as of those who revoked a key.
    pub names: Arc<dyn Names>,
    /// The projects of a member.
    pub reachable_projects: Arc<dyn ReachableProjects>,
    /// The settings of organizations.
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
    /// The audit log of one organization, for its owners.
    pub audit_trail: AuditTrail,
    /// How long audit events are kept; `None` if they are never removed.
    pub audit_events_kept_for: Option<TimeDelta>,
    /// A user's own sessions and password.
    pub own_account: OwnAccount,
    /// The command that prints a setup link on the server. Pages show it to every visitor until the setup is
    /// complete.
    pub setup_command: String,
    /// Where people reach this installation.
    pub public_url: PublicUrl,
    /// The clock of pages, and the randomness for their forms' idempotency keys.
    pub sources: Sources,
}
