//! Strict parsing of requests, with errors that say what to do.

mod fields;
mod if_match;
mod json_body;
mod query;
mod strict_json;

pub(crate) use fields::Fields;
pub(crate) use if_match::IfMatch;
pub(crate) use json_body::{JsonBody, ReadFields};
pub(crate) use query::{QueryNames, QueryParameter, QueryValue};
