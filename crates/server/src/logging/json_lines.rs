//! Events as lines of JSON.
//!
//! The lines are those of tracing-subscriber's own format (with flat events and without a list of spans), which parses the
//! JSON of a span's fields again for each event and each field that is recorded later. Here the fields of a span are kept
//! as the text that stands in the line.

use std::fmt::{self, Debug};
use std::io::{self, Write as _};
use std::str;

use chrono::{SecondsFormat, Utc};
use serde::Serialize;
use tracing::field::{Field, Visit};
use tracing::span::Record;
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// The bytes of most lines; longer ones take more.
const USUAL_LENGTH: usize = 512;

/// The bytes of the fields of most spans.
const USUAL_LENGTH_OF_FIELDS: usize = 128;

/// Writes an event as an object on one line.
pub(super) struct JsonLine;

/// Writes the fields of a span as members of an object, each with a comma after it.
pub(super) struct JsonMembers;

impl<S> FormatEvent<S, JsonMembers> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonMembers>,
        out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        #[expect(
            clippy::disallowed_methods,
            reason = "a line says when it was written, whatever the clock of the use cases"
        )]
        let now = Utc::now();
        let metadata = event.metadata();
        let mut line = Json(Vec::with_capacity(USUAL_LENGTH));
        line.add_raw("{\"timestamp\":\"");
        line.add_raw(&now.to_rfc3339_opts(SecondsFormat::Micros, true));
        line.add_raw("\",\"level\":\"");
        line.add_raw(metadata.level().as_str());
        line.add_raw("\",");
        line.add_members(event)?;
        line.add_raw("\"target\":");
        line.add_text(metadata.target());
        let span = event.parent().and_then(|id| context.span(id));
        if let Some(span) = span.or_else(|| context.lookup_current()) {
            line.add_raw(",\"span\":{");
            if let Some(fields) = span.extensions().get::<FormattedFields<JsonMembers>>() {
                line.add_raw(&fields.fields);
            }
            line.add_raw("\"name\":");
            line.add_text(span.name());
            line.add_raw("}");
        }
        line.add_raw("}\n");
        line.write_to(out)
    }
}

impl<'writer> FormatFields<'writer> for JsonMembers {
    fn format_fields<R: RecordFields>(&self, out: Writer<'writer>, fields: R) -> fmt::Result {
        let mut members = Json(Vec::with_capacity(USUAL_LENGTH_OF_FIELDS));
        members.add_members(fields)?;
        members.write_to(out)
    }

    fn add_fields(&self, current: &'writer mut FormattedFields<Self>, fields: &Record<'_>) -> fmt::Result {
        self.format_fields(current.as_writer(), fields)
    }
}

/// A part of a line. A [`Writer`] takes it at once: it would look for room again with each character.
struct Json(Vec<u8>);

impl Json {
    fn add_raw(&mut self, json: &str) {
        self.0.extend_from_slice(json.as_bytes());
    }

    fn add_text(&mut self, text: &str) {
        // A vector takes everything.
        let _ = self.add_written(|out| out.write_all(text.as_bytes()));
    }

    /// Adds what is written as a string.
    fn add_written(&mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> fmt::Result {
        self.add_raw("\"");
        let begin = self.0.len();
        write(&mut self.0).map_err(|_| fmt::Error)?;
        let text = self.0.get(begin..).unwrap_or_default();
        let is_plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
        // Without an early end, which is rare, this looks at many bytes at once.
        if text
            .iter()
            .fold(true, |are_plain, byte| are_plain & is_plain(byte))
        {
            self.add_raw("\"");
        } else {
            let quoted = str::from_utf8(text).ok().map(serde_json::to_string);
            self.0.truncate(begin - 1);
            self.add_raw(&quoted.and_then(Result::ok).ok_or(fmt::Error)?);
        }
        Ok(())
    }

    fn write_to(&self, mut out: Writer<'_>) -> fmt::Result {
        out.write_str(str::from_utf8(&self.0).map_err(|_| fmt::Error)?)
    }

    fn add_members(&mut self, fields: impl RecordFields) -> fmt::Result {
        let mut members = Members {
            json: self,
            outcome: Ok(()),
        };
        fields.record(&mut members);
        members.outcome
    }
}

struct Members<'a> {
    json: &'a mut Json,
    outcome: fmt::Result,
}

impl Members<'_> {
    fn add(&mut self, field: &Field, value: impl FnOnce(&mut Json) -> fmt::Result) {
        if self.outcome.is_ok() {
            // `r#type` stands for a field named as a keyword.
            let name = field.name();
            self.json.add_text(name.strip_prefix("r#").unwrap_or(name));
            self.json.add_raw(":");
            self.outcome = value(self.json);
            self.json.add_raw(",");
        }
    }

    fn add_value(&mut self, field: &Field, value: impl Serialize) {
        self.add(field, |json| {
            serde_json::to_writer(&mut json.0, &value).map_err(|_| fmt::Error)
        });
    }
}

impl Visit for Members<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add_value(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add_value(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add_value(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add_value(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, |json| {
            json.add_written(|out| out.write_all(value.as_bytes()))
        });
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, |json| json.add_written(|out| write!(out, "{value:?}")));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tracing::field::Empty;
    use tracing::{error_span, info, subscriber, warn};
    use tracing_subscriber::fmt;

    use super::super::tests::Lines;
    use super::*;

    /// The lines that are written meanwhile, without their time, in this format and in tracing-subscriber's own.
    fn lines_of(events: impl Fn()) -> [Vec<Value>; 2] {
        let (ours, theirs) = (Lines::default(), Lines::default());
        let writer = ours.clone();
        let builder = fmt().with_writer(move || writer.clone());
        let own = builder.fmt_fields(JsonMembers).event_format(JsonLine).finish();
        let writer = theirs.clone();
        let builder = fmt().with_writer(move || writer.clone()).json();
        let reference = builder.flatten_event(true).with_span_list(false).finish();
        subscriber::with_default(own, &events);
        subscriber::with_default(reference, &events);
        [ours, theirs].map(|lines| {
            let text = lines.text();
            let lines = text.lines().map(|line| {
                let mut line: Value = serde_json::from_str(line).unwrap();
                let time = line.as_object_mut().unwrap().remove("timestamp").unwrap();
                assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
                line
            });
            lines.collect()
        })
    }

    #[test]
    fn line_has_the_members_of_tracing_subscribers_json() {
        let [ours, theirs] = lines_of(|| {
            let span = error_span!("request", request_id = %"a-1", key_id = Empty, trace_id = Empty);
            span.record("key_id", "key \"7\"");
            span.in_scope(|| {
                let path = "/a\n\u{7f}é\\";
                info!(%path, status = 200, negative = -1, duration_ms = 0.25, whole = 3.0, "answered {}", "\"it\"");
                warn!(is_late = true, none = None::<&str>, debug = ?Some("x"), r#type = "t");
            });
            info!("without a span");
        });
        assert_eq!(ours.len(), 3);
        assert_eq!(ours, theirs);
        assert_eq!(
            ours[0]["span"],
            json!({ "name": "request", "request_id": "a-1", "key_id": "key \"7\"" })
        );
    }

    #[test]
    fn number_that_json_lacks_is_null() {
        let [ours, _] = lines_of(|| info!(value = f64::NAN, "no number"));
        assert_eq!(ours[0]["value"], Value::Null);
    }
}
