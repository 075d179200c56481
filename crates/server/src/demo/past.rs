//! The use cases at a moment of the past.

use std::error::Error;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::sign_in::joining::NewcomerChoices;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::setup::SetupChoices;
use keyward_domain::sources::Sources;
use keyward_domain::user::{DisplayName, Username};

use super::one_hash::OneHash;
use super::past_clock::PastClock;
use super::scenario::Scenario;
use crate::composition::Composition;
use crate::store::Store;

/// The error of any use case. It needs no variants: only failures of the storage can occur, because a test
/// runs all scenarios.
pub(super) type StepError = Box<dyn Error + Send + Sync>;

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
        scenario: &Scenario,
        now: DateTime<Utc>,
        sources: &Sources,
        hasher: &Arc<OneHash>,
        store: &Arc<dyn Store>,
    ) -> Self {
        let clock = Arc::new(PastClock::new(scenario.founded.before(now)));
        let sources = Sources::new(clock.clone(), Arc::new(sources.clone()));
        Self {
            now,
            clock,
            use_cases: Composition::with_hasher(sources.clone(), hasher.clone(), store.clone()),
            sources,
            store: store.clone(),
        }
    }

    /// Completes the first-run setup.
    pub(super) async fn set_up(&self, scenario: &Scenario, password: &Password) -> Result<Slug, StepError> {
        let choices = SetupChoices {
            organization: OrganizationName::parse(&scenario.name)?,
            owner: NewcomerChoices {
                username: Username::parse(&scenario.owner.username)?,
                display_name: DisplayName::parse(&scenario.owner.display_name)?,
                password: Password::attempt(password.expose()),
            },
        };
        Ok(self.use_cases.setup().bootstrap(choices).await?.slug)
    }

    /// A further organization, whose owner has an account.
    pub(super) async fn create_organization(&self, scenario: &Scenario) -> Result<Slug, StepError> {
        let owner = Username::parse(&scenario.owner.username)?;
        let name = OrganizationName::parse(&scenario.name)?;
        Ok(self
            .use_cases
            .accounts()
            .create_organization(name, &owner)
            .await?
            .slug)
    }
}
