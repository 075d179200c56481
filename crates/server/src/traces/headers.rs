//! The headers by which the collector knows who sends it traces. Their values are never logged.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use poem::http::{HeaderMap, HeaderName, HeaderValue, header};

/// The variables of OpenTelemetry, the one that counts first.
const VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/// Headers of the connection, and those that describe the content. The exporter sets them itself.
const OURS: [HeaderName; 6] = [
    header::HOST,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::CONTENT_ENCODING,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
];

/// Why the headers cannot be used. No message repeats a value, which may be a secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeadersError {
    #[error("cannot read {file}, which --otlp-headers-file names", file = .file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{0} is not valid UTF-8: percent-encode non-ASCII characters in the values of headers")]
    NotText(&'static str),
    #[error("header {number} in {place} is invalid: expected {form}")]
    Invalid {
        number: usize,
        place: String,
        form: &'static str,
    },
    #[error("header {number} in {place} is {name}, which Keyward sets itself: remove it")]
    Ours {
        number: usize,
        place: String,
        name: HeaderName,
    },
}

/// The headers in the file or, without a file, in a variable.
pub(crate) fn configured(
    file: Option<&Path>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<HeaderMap, HeadersError> {
    if let Some(file) = file {
        let text = fs::read_to_string(file).map_err(|source| HeadersError::File {
            file: file.to_owned(),
            source,
        })?;
        return of_lines(&text, &file.display().to_string());
    }
    for name in VARIABLES {
        if let Some(text) = variable(name).filter(|text| !text.is_empty()) {
            let text = text.into_string().map_err(|_| HeadersError::NotText(name))?;
            return of_list(&text, name);
        }
    }
    Ok(HeaderMap::new())
}

/// `Name: value` on each line; empty ones do not count.
fn of_lines(text: &str, place: &str) -> Result<HeaderMap, HeadersError> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let pairs = lines.map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim(), value.trim().to_owned()))
    });
    collected(pairs, place, "`Name: value` on a line")
}

/// `name=value,name=value`, with values that are percent-encoded (OpenTelemetry's specification, “OTLP
/// Exporter”).
fn of_list(text: &str, place: &str) -> Result<HeaderMap, HeadersError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pairs = parts.map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        Some((name.trim(), value.into_owned()))
    });
    collected(pairs, place, "`name=value`, with a comma before the next")
}

fn collected<'a>(
    pairs: impl Iterator<Item = Option<(&'a str, String)>>,
    place: &str,
    form: &'static str,
) -> Result<HeaderMap, HeadersError> {
    let mut headers = HeaderMap::new();
    for (number, pair) in (1..).zip(pairs) {
        let pair = pair.and_then(|(name, value)| {
            let mut value = HeaderValue::from_str(&value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
        });
        let place = || place.to_owned();
        let (name, value) = pair.ok_or_else(|| HeadersError::Invalid {
            number,
            place: place(),
            form,
        })?;
        if OURS.contains(&name) {
            return Err(HeadersError::Ours {
                number,
                place: place(),
                name,
            });
        }
        headers.insert(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn of_variables(variables: &[(&str, &str)]) -> Result<HeaderMap, HeadersError> {
        configured(None, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn headers_of_a_variable_are_percent_decoded() {
        let headers = of_variables(&[(VARIABLES[1], "authorization=Basic%20YWJj, x-scope=a=b,")]).unwrap();
        assert_eq!(headers["authorization"], "Basic YWJj");
        assert_eq!(headers["x-scope"], "a=b");
    }

    #[test]
    fn variable_that_is_not_text_is_refused() {
        let variable = |_: &str| Some(OsString::from_vec(b"a=\xff".to_vec()));
        let refusal = configured(None, variable).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS is not valid UTF-8: percent-encode non-ASCII characters in the values of headers"
        );
    }

    #[test]
    fn variable_for_traces_comes_first() {
        let both = [(VARIABLES[1], "a=all"), (VARIABLES[0], "a=traces")];
        assert_eq!(of_variables(&both).unwrap()["a"], "traces");
        assert_eq!(of_variables(&[(VARIABLES[0], ""), both[0]]).unwrap()["a"], "all");
        assert!(of_variables(&[]).unwrap().is_empty());
    }

    #[test]
    fn headers_of_a_file_are_lines() {
        let headers = of_lines("Authorization: Bearer a:b\r\n\n  x-scope:  c \n", "file").unwrap();
        assert_eq!(headers["authorization"], "Bearer a:b");
        assert_eq!(headers["x-scope"], "c");
    }

    #[test]
    fn invalid_header_is_named_by_its_number_only() {
        for text in ["s3cret", "a: b\ns3 cret: d", "a: b\n: s3cret", "a: s3cret\u{7f}"] {
            let refused = of_lines(text, "file").unwrap_err().to_string();
            assert!(refused.contains("in file is invalid"), "{refused}");
            assert!(!refused.contains("s3"), "{refused}");
        }
        let refused = of_lines("a: b\nHost: s3cret", "file").unwrap_err().to_string();
        assert_eq!(
            refused,
            "header 2 in file is host, which Keyward sets itself: remove it"
        );
    }
}
