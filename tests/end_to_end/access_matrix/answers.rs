//! Classifies answers, and describes unexpected ones.

use reqwest::Response;
use reqwest::header::{LOCATION, SET_COOKIE};

use super::rows::{Answer, Row};

/// Whether an answer is of this kind.
pub(super) fn is(expected: Answer, answer: &Response) -> bool {
    let status = answer.status().as_u16();
    let location = location(answer);
    let leads_to_sign_in = location.starts_with("/sign-in");
    let says_signed_out = answer.headers().get_all(SET_COOKIE).iter().any(|cookie| {
        cookie
            .to_str()
            .is_ok_and(|cookie| cookie.contains("flash=signed-out;"))
    });
    match expected {
        Answer::Done | Answer::Unaffected => {
            (200..300).contains(&status) || status == 303 && !leads_to_sign_in
        }
        Answer::SignedOut => status == 303 && leads_to_sign_in && says_signed_out,
        Answer::SignIn => status == 303 && leads_to_sign_in && !says_signed_out,
        Answer::BadForm => status == 400,
        Answer::Unauthorized => status == 401,
        Answer::Forbidden => status == 403,
        Answer::NotFound => status == 404,
        Answer::Conflict => status == 409,
        Answer::Gone => status == 410,
        Answer::Refilled => status == 422,
    }
}

fn location(answer: &Response) -> &str {
    let location = answer.headers().get(LOCATION);
    location
        .and_then(|location| location.to_str().ok())
        .unwrap_or_default()
}

pub(super) fn describe(row: &Row, visitor: &str, expected: &str, answer: &Response) -> String {
    let (method, path, status, location) = (row.method, row.path, answer.status(), location(answer));
    format!("{method} {path}: {visitor} should get {expected}, got {status} {location}")
}
