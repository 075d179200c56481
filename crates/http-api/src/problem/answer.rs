//! Converts problems and framework errors to responses.

use std::error::Error;
use std::sync::Arc;

use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::StorageError;
use poem::error::{NotFoundError, ParsePathError};
use poem::http::{HeaderValue, Method, StatusCode, Uri, header};
use poem::{Endpoint, IntoResponse, Request, Response};
use poem_openapi::OperationId;
use poem_openapi::error::ParsePathError as ParseOperationPathError;

use super::{Code, MEDIA_TYPE, Problem};
use crate::base_url::BaseUrl;
use crate::operations::AllowedMethods;
use crate::rate_limit_fields::ExceededLimit;
use crate::request_id::{self, REQUEST_ID};
use crate::{json, paths};

/// The response for an error detected outside the API, of which only the status is known.
///
/// It has the problem's status, body and headers. A 503 has the code `outcome_unknown`, because the request
/// may have been processed.
#[must_use]
pub fn problem_response(status: StatusCode, request_id: &str, base_url: &BaseUrl) -> Response {
    Problem::from(Code::of_status(status)).into_answer(request_id, base_url)
}

/// The response `unavailable`: nothing was changed, and a retry may succeed later.
#[must_use]
pub fn unavailable_response(detail: &str, request_id: &str, base_url: &BaseUrl) -> Response {
    Problem::with_detail(Code::Unavailable, detail).into_answer(request_id, base_url)
}

/// Attached to the response, so that the server can count problems.
#[derive(Debug, Clone, Copy)]
struct Reported {
    code: &'static str,
    limit: Option<&'static str>,
}

/// The code of the problem that a response holds, if it holds one.
#[must_use]
pub fn problem_code(response: &Response) -> Option<&'static str> {
    response
        .extensions()
        .get::<Reported>()
        .map(|problem| problem.code)
}

/// The name of the rate limit that a refused request exceeded, as in the header field `RateLimit`; none for
/// others.
#[must_use]
pub fn exceeded_limit(response: &Response) -> Option<&'static str> {
    response.extensions().get::<Reported>()?.limit
}

/// The `operationId` of the operation that answered; none if the request reached no operation.
#[must_use]
pub fn operation_id(response: &Response) -> Option<&'static str> {
    response
        .extensions()
        .get::<OperationId>()
        .map(|operation| operation.0)
}

/// Converts every error of an endpoint, including the framework's, to a problem.
pub(crate) struct ProblemAnswers<E> {
    inner: E,
    base_url: BaseUrl,
}

impl<E: Endpoint> ProblemAnswers<E> {
    pub(crate) const fn new(inner: E, base_url: BaseUrl) -> Self {
        Self { inner, base_url }
    }
}

impl<E: Endpoint> Endpoint for ProblemAnswers<E> {
    type Output = Response;

    /// Not an `async fn`: its future would hold the request, too.
    fn call(&self, request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        let uri = request.uri().clone();
        let request_id = request.headers().get(REQUEST_ID).cloned();
        // Elsewhere, OPTIONS is refused, with the methods of the path. The front door asks by it for those.
        let asks_for_methods =
            *request.method() == Method::OPTIONS && paths::is_forward_auth(request.uri().path());
        let answering = self.inner.call(request);
        async move {
            let mut answer = match answering.await {
                Ok(answer) => answer.into_response(),
                Err(error) => self.problem_answer(error, &uri, request_id.as_ref()),
            };
            if asks_for_methods {
                let methods = HeaderValue::from_static(paths::FORWARD_AUTH_METHODS);
                answer.headers_mut().insert(header::ALLOW, methods);
            }
            Ok(answer)
        }
    }
}

impl<E> ProblemAnswers<E> {
    fn problem_answer(&self, error: poem::Error, uri: &Uri, request_id: Option<&HeaderValue>) -> Response {
        let allowed = error.data::<AllowedMethods>().cloned();
        let operation = error.data::<OperationId>().copied();
        let mut problem = Problem::from_framework(error, uri.path());
        let outage = problem.take_outage();
        problem.log();
        let request_id = request_id.map_or("", request_id::as_text);
        let mut answer = problem.into_answer(request_id, &self.base_url);
        if let Some(error) = outage {
            answer.extensions_mut().insert(error);
        }
        if let Some(operation) = operation {
            answer.extensions_mut().insert(operation);
        }
        if let Some(AllowedMethods(allowed)) = allowed {
            answer.headers_mut().insert(header::ALLOW, allowed);
        }
        answer
    }
}

impl Problem {
    fn from_framework(error: poem::Error, path: &str) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(problem) => return problem,
            Err(error) => error,
        };
        if error.is::<ParseOperationPathError>() {
            // All path parameters are identifiers. A malformed one is answered like an unknown one.
            return Self::nothing_named(path);
        }
        if error.is::<NotFoundError>() || error.is::<ParsePathError>() {
            return Self::from(Code::NotFound);
        }
        match Code::of_status(error.status()) {
            Code::Internal => Self::internal(error.to_string()),
            code => Self::from(code),
        }
    }

    /// Removes the cause if it is a storage outage. It is attached to the response instead of being logged
    /// with each request, so that the server can log the outage once.
    fn take_outage(&mut self) -> Option<Arc<StorageError>> {
        let (outage, source) = match self.source.take()?.downcast::<StorageError>() {
            Ok(error) if error.is_outage() => (Some(Arc::from(error)), None),
            Ok(error) => (None, Some(error as Box<dyn Error + Send + Sync>)),
            Err(source) => (None, Some(source)),
        };
        self.source = source;
        outage
    }

    /// Logs the cause of a failure, which the response does not contain.
    fn log(&self) {
        let Some(source) = &self.source else { return };
        tracing::error!(
            code = self.code.definition().word,
            error = sentence(&**source),
            "request failed"
        );
    }

    fn into_answer(self, request_id: &str, base_url: &BaseUrl) -> Response {
        let mut answer = json::response(MEDIA_TYPE, json::line(&self.document(request_id, base_url)));
        answer.set_status(self.code.definition().status);
        answer.extensions_mut().insert(Reported {
            code: self.code.definition().word,
            limit: self.exceeded.as_deref().map(ExceededLimit::name),
        });
        let headers = answer.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(codings) = self.accept_encoding {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(codings));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(exceeded) = self.exceeded {
            exceeded.write_to(headers);
        }
        let challenge = match self.code {
            Code::CredentialsMissing => Some("Bearer"),
            Code::InvalidToken => Some("Bearer error=\"invalid_token\""),
            Code::InvalidClient => Some("Basic realm=\"introspection\", charset=\"UTF-8\""),
            _ => None,
        };
        if let Some(challenge) = challenge {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        // The front door adds `Retry-After` to every 503.
        answer
    }
}
