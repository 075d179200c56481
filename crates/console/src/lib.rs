//! Keyward's web console: first-run setup, sign-in, joining, and Organization Settings.
//!
//! Server-rendered pages with plain forms: everything works without JavaScript, which adds comfort only. The console
//! calls the use cases of the domain, never Keyward's own API, and knows no database. It stands behind the front door,
//! which sets the headers that every answer of Keyward carries and names each request.
//!
//! | to read about | look at |
//! |---|---|
//! | which address leads where | `routes` |
//! | what each page shows and does | `pages`, one file per page, with its template of the same name |
//! | who may see a page | `viewer` |
//! | which requests are believed | `same_origin`, `session_cookie`, `browser_cookie`, `invitation_cookie`, `forms`, `local_path` |
//! | what every answer carries | `headers` |
//! | what goes wrong, and the page that says so | `refusal` |
//! | style, script and icon | `assets` |

mod assets;
mod browser_cookie;
mod cookies;
mod forms;
mod headers;
mod invitation_cookie;
mod links;
mod local_path;
mod pages;
mod path_id;
mod public_url;
mod refusal;
mod request_source;
mod routes;
mod same_origin;
mod session_cookie;
mod viewer;

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::administration::ports::Names;
use keyward_domain::administration::{
    AuditTrail, Invitations, Members, OrganizationKeys, Organizations, Projects,
};
use keyward_domain::keys::PersonalKeys;
use keyward_domain::ports::{Memberships, ReachableProjects};
use keyward_domain::sign_in::{Joining, OwnAccount, Setup, SignIn};
use poem::Endpoint;

pub use pages::audit_log::json_lines::{audit_json_lines, followed_json_lines};
pub use pages::error::error_page;
pub use public_url::{InvalidPublicUrl, PublicUrl};

/// The console and what it works with.
#[derive(Clone)]
pub struct Console {
    /// The first run.
    pub setup: Setup,
    /// Signing in and out, and who is signed in.
    pub sign_in: SignIn,
    /// Who belongs to which organization.
    pub memberships: Arc<dyn Memberships>,
    /// Personal keys.
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
    /// Where people reach this installation.
    pub public_url: PublicUrl,
}

impl Console {
    /// Serves every path of the console, and a page that says "not found" everywhere else.
    pub fn endpoint(self) -> impl Endpoint {
        routes::endpoint(Arc::new(self))
    }
}
