//! Keyward's HTTP API v1: resources, bearer authentication, problem details and the OpenAPI document.
//!
//! [`HttpApi::endpoint`] serves `/api/v1/…`, `/openapi.json`, the reference at `/docs` and the pages
//! `/problems/{code}`. It expects to stand behind the front door: the header `x-request-id` is the request's
//! id, and the remote address is the client's.
//!
//! | to read about | look at |
//! |---|---|
//! | the operations and their answers | `resources` |
//! | which of them a request is for | `operations` |
//! | who sends a request | `authentication`, `verifier_authentication`, `github_keys` |
//! | what operations use | `services` |
//! | how often requests are allowed | `rate_limits` |
//! | what gateways send, and which operation it becomes | `forward_auth` |
//! | how bodies and query parameters are read | `request` |
//! | errors: their codes, answers and pages | `problem` |
//! | the OpenAPI document | `document` |
//! | the page on which people read and try it | `reference` |
//! | which paths there are | `paths` |

mod assets;
mod authentication;
mod base_url;
mod document;
mod entity_tag;
mod forward_auth;
mod github_keys;
mod json;
mod large_reports;
mod operations;
pub mod paths;
mod problem;
mod prose;
mod rate_limit_fields;
mod rate_limits;
mod reference;
mod request;
mod request_id;
mod resources;
mod served_document;
mod service;
mod services;
mod verifier_authentication;

pub use base_url::BaseUrl;
pub use document::document;
pub use github_keys::{GitHubKeys, InvalidGitHubKeys};
pub use problem::{exceeded_limit, operation_id, problem_code, problem_response, unavailable_response};
pub use rate_limits::{PeerAddress, RateLimits};
pub use resources::{HIDDEN_OPERATIONS, LARGER_BODIES};
pub use services::HttpApi;
