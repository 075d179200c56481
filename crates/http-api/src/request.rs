//! Strict parsing of requests, with errors that say what to do.

mod fields;
mod form_body;
mod form_encoding;
mod headers;
mod idempotency_key;
mod json_body;
mod payload;
mod preconditions;
mod query;
mod strict_json;

pub(crate) use fields::Fields;
pub(crate) use form_body::{Form, FormBody, ReadForm};
pub(crate) use form_encoding::form_decoded;
pub(crate) use headers::Header;
pub(crate) use json_body::{JsonBody, ReadFields};
pub(crate) use payload::{NoBody, read_larger as read_larger_body};
pub(crate) use preconditions::Preconditions;
pub(crate) use query::{NoQuery, QueryNames, QueryParameter, QueryValue};
