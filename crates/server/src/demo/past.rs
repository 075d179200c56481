//! The use cases at a moment of the past.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::setup::SetupChoices;
use keyward_domain::sources::Sources;
use keyward_domain::user::{DisplayName, Username};

use super::fill_error::FillError;
use super::happening::Moment;
use super::one_hash::OneHash;
use super::organization;
use super::past_clock::PastClock;
use crate::composition::Composition;
use crate::store::Store;

/// The use cases at a moment of the past.
pub(super) struct Past {
    pub(super) now: DateTime<Utc>,
    pub(super) clock: Arc<PastClock>,
    /// Identifiers sort by time, so they have to be of the past, too.
    pub(super) sources: Sources,
    pub(super) use_cases: Composition,
    pub(super) store: Arc<dyn Store>,
}

impl Past {
    pub(super) fn new(
        founded: Moment,
        now: DateTime<Utc>,
        sources: &Sources,
        hasher: &Arc<OneHash>,
        store: &Arc<dyn Store>,
    ) -> Self {
        let clock = Arc::new(PastClock::new(founded.before(now)));
        let sources = Sources::new(clock.clone(), Arc::new(sources.clone()));
        Self {
            now,
            clock,
            use_cases: Composition::with_hasher(sources.clone(), hasher.clone(), store.clone()),
            sources,
            store: store.clone(),
        }
    }

    /// The first run.
    pub(super) async fn set_up(&self, password: &Password) -> Result<Slug, FillError> {
        let choices = SetupChoices {
            organization: OrganizationName::parse(organization::NAME)?,
            username: Username::parse(organization::OWNER.username)?,
            display_name: DisplayName::parse(organization::OWNER.display_name)?,
            password: Password::attempt(password.expose()),
        };
        Ok(self.use_cases.setup().bootstrap(choices).await?.slug)
    }

    /// A further organization of somebody who has an account.
    pub(super) async fn found(&self, name: &str, owner: &str) -> Result<Slug, FillError> {
        let (name, owner) = (OrganizationName::parse(name)?, Username::parse(owner)?);
        Ok(self
            .use_cases
            .accounts()
            .create_organization(name, &owner)
            .await?
            .slug)
    }
}
