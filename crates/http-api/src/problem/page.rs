//! The pages at the `type` of a problem, which explain to people what it means and what to do.

use askama::Template;
use poem::http::{StatusCode, header};
use poem::web::Path;
use poem::{Response, handler};

use super::{Code, ProblemType};
use crate::assets;

/// The pages load only a style sheet; no script.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The page of one problem, or of all problems for an unknown code.
#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    title: &'static str,
    definition: Option<ProblemType>,
    problems: Vec<ProblemType>,
    style: String,
}

impl ProblemPage {
    fn of(code: Option<Code>) -> Self {
        let definition = code.map(Code::definition);
        Self {
            title: definition
                .as_ref()
                .map_or("Unknown error code", |definition| definition.title),
            definition,
            problems: Code::ALL.iter().copied().map(Code::definition).collect(),
            style: assets::style(),
        }
    }
}

/// Answers `GET /problems/{code}`.
#[handler]
pub(crate) fn problem_page(Path(word): Path<String>) -> Response {
    let code = Code::from_word(&word);
    let status = if code.is_some() {
        StatusCode::OK
    } else {
        StatusCode::NOT_FOUND
    };
    Response::builder()
        .status(status)
        .content_type("text/html; charset=utf-8")
        .header(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY)
        .header(header::CACHE_CONTROL, "no-cache")
        // Rendering to a string cannot fail. Templates drop the final line feed.
        .body(ProblemPage::of(code).render().unwrap_or_default() + "\n")
}
