//! The services that the API uses.

use std::sync::Arc;

use keyward_domain::access::Authenticate;
use keyward_domain::current::Current;
use keyward_domain::introspection::Introspect;
use keyward_domain::keys::PersonalKeys;
use keyward_domain::leaked_keys::RevokeLeakedKeys;
use keyward_domain::ports::ReachableProjects;
use keyward_domain::verifier::Verifiers;
use poem::{FromRequest, Request, RequestBody};

use crate::base_url::BaseUrl;
use crate::github_keys::GitHubKeys;
use crate::large_reports::LargeReports;
use crate::problem::Problem;
use crate::rate_limits::RateLimits;

/// The API over its use cases.
#[derive(Clone)]
pub struct HttpApi {
    /// Authenticates the token of each request.
    pub authenticate: Authenticate,
    /// Use cases of the caller's own keys.
    pub keys: PersonalKeys,
    /// The projects that callers reach.
    pub projects: Arc<dyn ReachableProjects>,
    /// The services that may introspect tokens; `None` refuses all.
    pub verifiers: Option<Arc<Current<Verifiers>>>,
    /// Takes reports of leaked keys.
    pub leaks: RevokeLeakedKeys,
    /// The keys with which GitHub signs its reports of leaked keys; without them, it reports none.
    pub github_keys: Option<Arc<Current<GitHubKeys>>>,
    /// The public URL, if configured.
    pub base_url: BaseUrl,
    /// The limits of requests.
    pub rate_limits: RateLimits,
}

/// All services that operations use. They are one value in the data of each request, because poem copies
/// every value that it adds to requests and allocates memory for it, whether the operation uses it or not.
pub(crate) struct Services {
    pub(crate) api: HttpApi,
    pub(crate) introspect: Introspect,
    pub(crate) large_reports: LargeReports,
}

impl Services {
    pub(crate) fn new(api: HttpApi) -> Self {
        Self {
            introspect: Introspect::new(api.authenticate.clone(), Arc::clone(&api.projects)),
            large_reports: LargeReports::default(),
            api,
        }
    }

    pub(crate) fn of(request: &Request) -> Result<&Self, Problem> {
        let services = request.data::<Arc<Self>>();
        services
            .map(AsRef::as_ref)
            .ok_or_else(|| Problem::internal("the endpoint was built without its services"))
    }
}

impl<'a> FromRequest<'a> for &'a Services {
    async fn from_request(request: &'a Request, _body: &mut RequestBody) -> poem::Result<Self> {
        Ok(Services::of(request)?)
    }
}
