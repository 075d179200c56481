//! Introspection (RFC 7662): a service asks whether a client's token is accepted, and whose it is.

use std::sync::Arc;

use crate::access::{Authenticate, AuthenticateError, Caller};
use crate::id::ProjectId;
use crate::page::{Page, PageRequest, PageSize};
use crate::ports::{ReachableProjects, StorageError};
use crate::project::Project;

/// The use case of introspection.
#[derive(Clone)]
pub struct Introspect {
    authenticate: Authenticate,
    projects: Arc<dyn ReachableProjects>,
}

/// The description of an accepted token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveToken {
    /// The consumer and key of the token.
    pub caller: Caller,
    /// The projects that its key reaches: [`Introspect::MOST_PROJECTS`] of them, the newest, if there are
    /// more.
    pub projects: Page<Project, ProjectId>,
}

impl Introspect {
    /// The maximum number of projects in the description of a token; the verification cache holds as many.
    pub const MOST_PROJECTS: PageSize = PageSize::DEFAULT;

    /// Creates the use case.
    #[must_use]
    pub const fn new(authenticate: Authenticate, projects: Arc<dyn ReachableProjects>) -> Self {
        Self {
            authenticate,
            projects,
        }
    }

    /// The consumer and key of the token; `None` if it is not accepted, without the reason.
    ///
    /// It counts as a use of the key, from an unknown address: the request comes from the service, which
    /// cannot be trusted to report its client's address.
    ///
    /// # Errors
    /// The store failed, so it is unknown whether the token is valid.
    pub async fn token(&self, token: &str) -> Result<Option<ActiveToken>, StorageError> {
        let caller = match self.authenticate.caller(token, None).await {
            Ok(caller) => caller,
            Err(AuthenticateError::InvalidToken) => return Ok(None),
            Err(AuthenticateError::Storage(error)) => return Err(error),
        };
        let first = PageRequest::first(Self::MOST_PROJECTS);
        let projects = self
            .projects
            .list(caller.consumer().id, first, caller.accepted_at())
            .await?;
        Ok(Some(ActiveToken { caller, projects }))
    }
}
