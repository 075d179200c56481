//! A console over an installation in memory.

use std::sync::Arc;

use keyward_console::Console;
use keyward_domain::public_url::PublicUrl;
use keyward_domain::testing::TestInstallation;

pub(crate) fn console_over(installation: &TestInstallation, public_url: PublicUrl) -> Console {
    let store = Arc::new(installation.store.clone());
    Console {
        setup: installation.setup(),
        sign_in: installation.sign_in(),
        memberships: Arc::clone(&store) as _,
        keys: installation.keys(),
        names: Arc::clone(&store) as _,
        reachable_projects: store,
        organizations: installation.organizations(),
        members: installation.members(),
        invitations: installation.invitations(),
        projects: installation.projects(),
        joining: installation.joining(),
        organization_keys: installation.organization_keys(),
        audit_trail: installation.audit_trail(),
        audit_events_kept_for: None,
        setup_command: "keyward admin setup-link".to_owned(),
        own_account: installation.own_account(),
        public_url,
        sources: installation.builder.sources.clone(),
    }
}
