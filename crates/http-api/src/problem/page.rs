//! The pages behind the `type` of a problem: what it means and what to do, for people.

use std::fmt::Write as _;

use poem::http::{StatusCode, header};
use poem::web::Path;
use poem::{Response, handler};

use super::Code;
use crate::prose::html;

/// Answers `GET /problems/{code}`. The pages have no style and no script, so the strictest policy suits them.
#[handler]
pub(crate) fn problem_page(Path(word): Path<String>) -> Response {
    let (status, title, content) = match Code::from_word(&word) {
        Some(code) => (StatusCode::OK, code.facts().title, explanation(code)),
        None => (StatusCode::NOT_FOUND, "Unknown problem", overview()),
    };
    Response::builder()
        .status(status)
        .content_type("text/html; charset=utf-8")
        .header(header::CACHE_CONTROL, "no-cache")
        .body(page(title, &content))
}

fn explanation(code: Code) -> String {
    let facts = code.facts();
    format!(
        "<p>Code <code>{word}</code>, status {status}.</p>\n\
         <h2>What it means</h2>\n<p>{meaning}</p>\n\
         <h2>What to do</h2>\n<p>{advice}</p>",
        word = facts.word,
        status = facts.status,
        meaning = html(facts.meaning),
        advice = html(facts.advice),
    ) + "\n<p>All operations and their problems: <a href=\"/docs\">API reference</a>.</p>"
}

fn overview() -> String {
    let mut list =
        "<p>There is no such problem. These are the ones that the API answers with:</p>\n<ul>\n".to_owned();
    for code in Code::ALL {
        let facts = code.facts();
        // Writing to a string cannot fail.
        _ = writeln!(
            list,
            "<li><a href=\"/problems/{word}\"><code>{word}</code></a>: {title}</li>",
            word = facts.word,
            title = facts.title
        );
    }
    list.push_str("</ul>");
    list
}

fn page(title: &str, content: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} · Keyward API</title>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{content}\n</main>\n\
         </body>\n</html>\n"
    )
}
