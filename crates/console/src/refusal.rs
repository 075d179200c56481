//! Refused requests and their responses.

mod causes;

use std::sync::Arc;

use keyward_domain::administration::ports::CutoffTooRecent;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::StorageError;
use keyward_domain::public_url::PublicUrl;
use keyward_domain::rate::Throttled;
use keyward_domain::sign_in::password::HashingError;
use keyward_domain::user::User;
use poem::Response;
use poem::error::ResponseError;
use poem::http::{StatusCode, header};

use crate::error_page::{ErrorPage, error_page};
use crate::user_menu::UserMenu;
use crate::wait::Wait;

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The page does not exist, or not for this user; the two cannot be distinguished.
    #[error("not found")]
    NotFound,
    /// The path takes other methods only.
    #[error("the method is not allowed")]
    MethodNotAllowed {
        /// The allowed methods, for the header `Allow`.
        allow: &'static str,
    },
    /// The request leads elsewhere: to the sign-in page, or to the same page without a token in its URL.
    #[error("the request is redirected")]
    Instead(Box<Response>),
    /// The request does not come from a page of this installation.
    #[error("the request comes from another site")]
    CrossSite {
        /// The URL that such a page has.
        public_url: PublicUrl,
    },
    /// No form of ours looks like this.
    #[error("unreadable form: {0}")]
    BadForm(&'static str),
    /// The form is on a page of another user than the one who is signed in now.
    #[error("the form is on a page of another user")]
    FormOfAnotherUser(Box<User>),
    /// The URL was mistyped or cut off.
    #[error("unreadable URL")]
    BadUrl,
    /// The body is no form.
    #[error("the content type is not that of a form")]
    UnsupportedForm,
    /// The form is larger than any of ours.
    #[error("the form is too large")]
    FormTooLarge,
    /// The form did not arrive in time.
    #[error("the form did not arrive in time")]
    FormTooSlow,
    /// An owner has made too many changes.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The browser has signed out, but the store failed.
    #[error("the session could not be ended")]
    SessionNotEnded(#[source] StorageError),
    /// A password could not be hashed or checked.
    #[error(transparent)]
    Hashing(#[from] HashingError),
    /// A template failed.
    #[error("a page could not be rendered")]
    Rendering(#[from] askama::Error),
    /// An event could not be written as JSON.
    #[error("an export could not be written")]
    Export(#[from] serde_json::Error),
}

impl From<CutoffTooRecent> for Refusal {
    fn from(error: CutoffTooRecent) -> Self {
        Self::BadForm(cutoff_too_recent(error))
    }
}

/// The advice about a cut-off time that is too recent.
pub(crate) const fn cutoff_too_recent(CutoffTooRecent: CutoffTooRecent) -> &'static str {
    "Choose a time that was at least one minute ago, in UTC: newer keys are still being saved."
}

impl ResponseError for Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Instead(_) => StatusCode::SEE_OTHER,
            Self::CrossSite { .. } => StatusCode::FORBIDDEN,
            Self::BadForm(_) | Self::BadUrl => StatusCode::BAD_REQUEST,
            Self::FormOfAnotherUser(_) => StatusCode::CONFLICT,
            Self::UnsupportedForm => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::FormTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::FormTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Throttled(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Storage(error) | Self::SessionNotEnded(error) if error.is_outage() => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Hashing(HashingError::Busy) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Storage(_)
            | Self::SessionNotEnded(_)
            | Self::Hashing(HashingError::Failed(_))
            | Self::Rendering(_)
            | Self::Export(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl Refusal {
    /// The answer to the request that was refused.
    pub(crate) fn into_response(self, request_id: &str, sends_form: bool) -> Response {
        let status = self.status();
        self.log();
        match self {
            Self::Instead(response) => *response,
            Self::MethodNotAllowed { allow } => {
                let mut response = error_page(status, request_id);
                response
                    .headers_mut()
                    .insert(header::ALLOW, poem::http::HeaderValue::from_static(allow));
                response
            }
            Self::CrossSite { public_url } => ErrorPage::new(status)
                .with_text(
                    "This request came from another site",
                    &format!(
                        "Keyward only accepts it from its own pages. Nothing was changed. If you sent it here, open \
                         Keyward at {public_url} and send it again."
                    ),
                )
                .into_response(request_id),
            Self::BadForm(problem) => ErrorPage::new(status)
                .with_text(
                    "This form could not be read",
                    &format!("{problem} Nothing was changed. Go back, reload the page and try again."),
                )
                .into_response(request_id),
            Self::FormOfAnotherUser(user) => ErrorPage::new(status)
                .with_text(
                    "This form was opened by another user",
                    &format!(
                        "Nothing was changed. This browser is now signed in as {}.",
                        user.username
                    ),
                )
                .with_menu(Some(UserMenu::new(&user, [].iter())))
                .into_response(request_id),
            Self::Storage(error) => {
                let mut response = match &error {
                    StorageError::OutcomeUnknown(_) => ErrorPage::new(status)
                        .with_text(
                            "Your change may not have been saved",
                            "Keyward lost its connection to the database while saving. Check whether the change was made \
                             before you try again. If a key was created but you did not see its token, revoke it and \
                             create another.",
                        )
                        .into_response(request_id),
                    StorageError::Unavailable(_)
                    | StorageError::Corrupt { .. }
                    | StorageError::Defect(_) => {
                        let page = if sends_form {
                            ErrorPage::new(status)
                        } else {
                            ErrorPage::without_form(status)
                        };
                        page.into_response(request_id)
                    }
                };
                leave_outage(error, &mut response);
                response
            }
            Self::SessionNotEnded(error) => {
                let mut response = ErrorPage::new(status)
                    .with_text(
                        "You are signed out in this browser only",
                        "Keyward could not confirm that your session was ended on the server. Sign in later and look at the \
                         Account page: if the session is still listed there, sign it out.",
                    )
                    .into_response(request_id);
                leave_outage(error, &mut response);
                response
            }
            Self::Throttled(throttled) => {
                let wait = Wait::from(throttled);
                let text = format!(
                    "You or other owners of the organization made too many changes or exports in a short time. This one \
                     was not made. Go back and try again {wait}. You can still revoke keys and remove members."
                );
                let mut response = ErrorPage::new(status)
                    .with_text("Too many changes", &text)
                    .into_response(request_id);
                response
                    .headers_mut()
                    .insert(header::RETRY_AFTER, wait.seconds.into());
                response
            }
            Self::NotFound
            | Self::BadUrl
            | Self::UnsupportedForm
            | Self::FormTooLarge
            | Self::FormTooSlow
            | Self::Hashing(_)
            | Self::Rendering(_)
            | Self::Export(_) => error_page(status, request_id),
        }
    }

    /// Logs a failure that a page can do without.
    pub(crate) fn report_in(self, response: &mut Response) {
        self.log();
        if let Self::Storage(error) = self {
            leave_outage(error, response);
        }
    }

    /// Logs refusals that concern the operator, not those caused by the visitor. Two are left out: an outage is logged
    /// elsewhere, once, and strangers can cause overload of password checks as often as they like.
    fn log(&self) {
        let status = self.status();
        if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
            tracing::error!(error = sentence(self), status = status.as_u16(), "page failed");
        }
    }
}

/// Attaches a storage outage to the response, for the server to log once instead of per request.
fn leave_outage(error: StorageError, response: &mut Response) {
    if error.is_outage() {
        response.extensions_mut().insert(Arc::new(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_records_why_a_page_failed() {
        let refusal = Refusal::from(StorageError::Defect("relation api_keys does not exist".into()));
        let told = sentence(&refusal);
        assert!(told.contains("relation api_keys does not exist"), "{told}");
    }
}
