//! Events as lines of JSON.
//!
//! The lines are those of tracing-subscriber's own format (with flat events and without a list of spans), which parses the
//! JSON of a span's fields again for each event and each field that is recorded later. Here the fields of a span are kept
//! as the text that stands in the line.

use std::fmt::{self, Debug, Write};

use serde_json::to_string;
use tracing::field::{Field, Visit};
use tracing::span::Record;
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

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
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        out.write_str("{\"timestamp\":\"")?;
        SystemTime.format_time(&mut out)?;
        write!(out, "\",\"level\":\"{}\",", metadata.level())?;
        JsonMembers.format_fields(out.by_ref(), event)?;
        out.write_str("\"target\":")?;
        write_text(&mut out, metadata.target())?;
        let span = event.parent().and_then(|id| context.span(id));
        if let Some(span) = span.or_else(|| context.lookup_current()) {
            out.write_str(",\"span\":{")?;
            if let Some(fields) = span.extensions().get::<FormattedFields<JsonMembers>>() {
                out.write_str(&fields.fields)?;
            }
            out.write_str("\"name\":")?;
            write_text(&mut out, span.name())?;
            out.write_char('}')?;
        }
        out.write_str("}\n")
    }
}

impl<'writer> FormatFields<'writer> for JsonMembers {
    fn format_fields<R: RecordFields>(&self, mut out: Writer<'writer>, fields: R) -> fmt::Result {
        let mut members = Members {
            out: &mut out,
            outcome: Ok(()),
        };
        fields.record(&mut members);
        members.outcome
    }

    fn add_fields(&self, current: &'writer mut FormattedFields<Self>, fields: &Record<'_>) -> fmt::Result {
        self.format_fields(current.as_writer(), fields)
    }
}

struct Members<'a, 'writer> {
    out: &'a mut Writer<'writer>,
    outcome: fmt::Result,
}

impl Members<'_, '_> {
    fn add(&mut self, field: &Field, value: impl FnOnce(&mut Writer<'_>) -> fmt::Result) {
        if self.outcome.is_ok() {
            // `r#type` stands for a field named as a keyword.
            let name = field.name();
            let name = name.strip_prefix("r#").unwrap_or(name);
            self.outcome = write_text(self.out, name)
                .and_then(|()| self.out.write_char(':'))
                .and_then(|()| value(self.out))
                .and_then(|()| self.out.write_char(','));
        }
    }
}

impl Visit for Members<'_, '_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, |out| match value.is_finite() {
            true => write!(out, "{value:?}"),
            false => out.write_str("null"),
        });
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, |out| write!(out, "{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, |out| write!(out, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, |out| write!(out, "{value}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, |out| write_text(out, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, |out| {
            out.write_char('"')?;
            write!(Escaped(out), "{value:?}")?;
            out.write_char('"')
        });
    }
}

fn write_text(out: &mut Writer<'_>, text: &str) -> fmt::Result {
    out.write_char('"')?;
    Escaped(out).write_str(text)?;
    out.write_char('"')
}

/// Text within a string of JSON.
struct Escaped<'a, 'writer>(&'a mut Writer<'writer>);

impl Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
        // Without an early end, which is rare, this looks at many bytes at once.
        if text
            .bytes()
            .fold(true, |are_plain, byte| are_plain & is_plain(byte))
        {
            return self.0.write_str(text);
        }
        let quoted = to_string(text).map_err(|_| fmt::Error)?;
        let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        self.0.write_str(inner.unwrap_or_default())
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
