//! The changes of the first run, while there is no organization yet.

use std::sync::Arc;

use keyward_domain::audit::RequestSource;
use keyward_domain::organization::OrganizationName;
use keyward_domain::sign_in::joining::NewcomerChoices;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::setup::{Setup, SetupChoices, SetupToken};
use keyward_domain::testing::{Builder, PlainHasher};
use keyward_domain::user::{DisplayName, Username};

use crate::both::scene::Attempt;
use crate::database::Database;

/// A way to change something before there is an organization.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FirstRunChange {
    CreateSetupLink,
    CompleteWithLink,
    CompleteFromCommandLine,
}

/// The password of all users.
pub(crate) const PASSWORD: &str = "quiet otters read maps";

pub(crate) struct FirstRun {
    setup: Setup,
    link: SetupToken,
}

impl FirstRun {
    pub(crate) async fn new(database: &Database, make: &Builder) -> Self {
        let setup = setup(database, make);
        let link = setup.create_link(RequestSource::default()).await;
        Self {
            setup,
            link: link.expect("a setup link"),
        }
    }

    pub(crate) async fn attempt(&self, change: FirstRunChange) -> Attempt {
        let source = RequestSource::default();
        match change {
            FirstRunChange::CreateSetupLink => drop(self.setup.create_link(source).await?),
            FirstRunChange::CompleteWithLink => {
                drop(self.setup.complete(&self.link, choices(), source).await?);
            }
            FirstRunChange::CompleteFromCommandLine => drop(self.setup.bootstrap(choices()).await?),
        }
        Ok(())
    }
}

/// The use cases of the first run.
pub(crate) fn setup(database: &Database, make: &Builder) -> Setup {
    Setup::new(
        Arc::clone(&database.store) as _,
        Arc::new(PlainHasher),
        make.sources.clone(),
    )
}

/// Ada of Analytical Engines.
pub(crate) fn choices() -> SetupChoices {
    SetupChoices {
        organization: OrganizationName::parse("Analytical Engines").expect("a name"),
        owner: newcomer("ada", "Ada"),
    }
}

pub(crate) fn newcomer(username: &str, display_name: &str) -> NewcomerChoices {
    NewcomerChoices {
        username: Username::parse(username).expect("a username"),
        display_name: DisplayName::parse(display_name).expect("a name"),
        password: Password::attempt(PASSWORD),
    }
}
