//! What operations are made of.

use std::sync::Arc;

use keyward_domain::current::Current;
use keyward_domain::introspection::Introspect;
use keyward_domain::keys::PersonalKeys;
use keyward_domain::leaked_keys::RevokeLeakedKeys;
use keyward_domain::ports::ReachableProjects;
use keyward_domain::verifier::Verifiers;
use poem::{FromRequest, Request, RequestBody};

use crate::base_url::BaseUrl;
use crate::gate::Gate;
use crate::github_keys::GitHubKeys;
use crate::large_reports::LargeReports;
use crate::problem::Problem;

/// All that operations use. It is data of each request as one: poem copies every value that it adds to
/// requests, and allocates room for it, whether the operation asks for it or not.
pub(crate) struct Services {
    pub(crate) gate: Gate,
    pub(crate) keys: PersonalKeys,
    pub(crate) projects: Arc<dyn ReachableProjects>,
    pub(crate) introspect: Introspect,
    /// `None` if the installation has none configured.
    pub(crate) verifiers: Option<Arc<Current<Verifiers>>>,
    pub(crate) leaks: RevokeLeakedKeys,
    /// `None` if the installation has none configured.
    pub(crate) github_keys: Option<Arc<Current<GitHubKeys>>>,
    pub(crate) large_reports: LargeReports,
    pub(crate) base_url: BaseUrl,
}

impl Services {
    pub(crate) fn of(request: &Request) -> Result<&Self, Problem> {
        let services = request.data::<Arc<Self>>();
        services
            .map(AsRef::as_ref)
            .ok_or_else(|| Problem::internal("the endpoint was built without its services"))
    }
}

/// Extracts one of the [`Services`].
pub(crate) struct Using<T>(pub(crate) T);

impl<'a, T: ?Sized> FromRequest<'a> for Using<&'a T>
where
    Services: AsRef<T>,
{
    async fn from_request(request: &'a Request, _body: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self(Services::of(request)?.as_ref()))
    }
}

impl AsRef<PersonalKeys> for Services {
    fn as_ref(&self) -> &PersonalKeys {
        &self.keys
    }
}

impl AsRef<dyn ReachableProjects> for Services {
    fn as_ref(&self) -> &(dyn ReachableProjects + 'static) {
        &*self.projects
    }
}

impl AsRef<Introspect> for Services {
    fn as_ref(&self) -> &Introspect {
        &self.introspect
    }
}

impl AsRef<RevokeLeakedKeys> for Services {
    fn as_ref(&self) -> &RevokeLeakedKeys {
        &self.leaks
    }
}

impl AsRef<BaseUrl> for Services {
    fn as_ref(&self) -> &BaseUrl {
        &self.base_url
    }
}
