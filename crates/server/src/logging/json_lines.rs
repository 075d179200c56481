//! Events as lines of JSON.
//!
//! The lines are those of tracing-subscriber's own format (with flat events and without a list of spans),
//! which parses the JSON of a span's fields again for each event and each field that is recorded later. Here
//! the fields of a span are kept as the text that stands in the line.

use std::fmt::{self, Debug, Display, Write as _};
use std::mem;

use chrono::{SecondsFormat, Utc};
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
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        #[expect(
            clippy::disallowed_methods,
            reason = "a line says when it was written, whatever the clock of the use cases"
        )]
        let now = Utc::now();
        let metadata = event.metadata();
        let mut line = Json(String::with_capacity(USUAL_LENGTH));
        line.add_raw("{\"timestamp\":\"");
        line.add_raw(&now.to_rfc3339_opts(SecondsFormat::Micros, true));
        line.add_raw("\",\"level\":\"");
        line.add_raw(metadata.level().as_str());
        line.add_raw("\",");
        event.record(&mut line);
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
        out.write_str(&line.0)
    }
}

impl<'writer> FormatFields<'writer> for JsonMembers {
    fn format_fields<R: RecordFields>(&self, mut out: Writer<'writer>, fields: R) -> fmt::Result {
        let mut members = Json(String::with_capacity(USUAL_LENGTH_OF_FIELDS));
        fields.record(&mut members);
        out.write_str(&members.0)
    }

    fn add_fields(&self, current: &'writer mut FormattedFields<Self>, fields: &Record<'_>) -> fmt::Result {
        let mut members = Json(mem::take(&mut current.fields));
        fields.record(&mut members);
        current.fields = members.0;
        Ok(())
    }
}

/// A part of a line, passed to a [`Writer`] as a whole, because that checks its capacity at each call.
struct Json(String);

impl Json {
    fn add_raw(&mut self, json: &str) {
        self.0.push_str(json);
    }

    /// Adds what a value shows. If the value fails to format, this is only its beginning: a log without the
    /// line would be worse.
    fn add_shown(&mut self, value: fmt::Arguments<'_>) {
        let _ = self.0.write_fmt(value);
    }

    fn add_text(&mut self, text: &str) {
        self.add_string(|json| json.add_raw(text));
    }

    /// Adds a string of the text that a closure adds.
    fn add_string(&mut self, add_text: impl FnOnce(&mut Self)) {
        self.add_raw("\"");
        let begin = self.0.len();
        add_text(self);
        let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) & (byte != b'"') & (byte != b'\\');
        // Without an early end, which is rare, this looks at many bytes at once.
        let bytes = self.0.bytes().skip(begin);
        if !bytes.fold(true, |are_plain, byte| are_plain & is_plain(byte)) {
            let text = self.0.split_off(begin);
            self.add_escaped(&text);
        }
        self.add_raw("\"");
    }

    fn add_escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '"' | '\\' => self.0.extend(['\\', character]),
                '\n' => self.add_raw("\\n"),
                _ if is_control(character) => {
                    self.add_shown(format_args!("\\u{:04x}", u32::from(character)));
                }
                _ => self.0.push(character),
            }
        }
    }

    fn add_member(&mut self, field: &Field, add_value: impl FnOnce(&mut Self)) {
        // `r#type` stands for a field named as a keyword.
        let name = field.name();
        self.add_text(name.strip_prefix("r#").unwrap_or(name));
        self.add_raw(":");
        add_value(self);
        self.add_raw(",");
    }

    /// Adds a number or Boolean, which `Display` writes as JSON does.
    fn add_literal(&mut self, field: &Field, value: impl Display) {
        self.add_member(field, |json| json.add_shown(format_args!("{value}")));
    }
}

/// Whether a character controls how text is shown: some terminals obey C1 controls, some programs end a line
/// at U+0085 or U+2028, and bidirectional controls reorder the text around them. JSON allows all of these in
/// a string.
fn is_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Visit for Json {
    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no NaN or infinity: they become null.
        let literal = serde_json::to_string(&value).unwrap_or_default();
        self.add_member(field, |json| json.add_raw(&literal));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add_literal(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add_literal(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add_literal(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add_member(field, |json| json.add_text(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add_member(field, |json| {
            json.add_string(|json| json.add_shown(format_args!("{value:?}")));
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::{Error, Formatter, Result};

    use serde_json::{Value, json};
    use tracing::field::{Empty, debug};
    use tracing::{error_span, info, subscriber, warn};
    use tracing_subscriber::fmt;

    use super::super::tests::Lines;
    use super::*;

    /// The text of the events in this format.
    fn text_of(events: impl Fn()) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let builder = fmt().with_writer(move || writer.clone());
        let subscriber = builder.fmt_fields(JsonMembers).event_format(JsonLine).finish();
        subscriber::with_default(subscriber, events);
        lines.text()
    }

    /// The text of the events in the format of tracing-subscriber.
    fn reference_text_of(events: impl Fn()) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let builder = fmt().with_writer(move || writer.clone()).json();
        let subscriber = builder.flatten_event(true).with_span_list(false).finish();
        subscriber::with_default(subscriber, events);
        lines.text()
    }

    /// The lines of a text, without their time.
    fn parsed(text: &str) -> Vec<Value> {
        let lines = text.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            let time = line.as_object_mut().unwrap().remove("timestamp").unwrap();
            assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
            line
        });
        lines.collect()
    }

    #[test]
    fn line_has_the_members_of_tracing_subscribers_json() {
        let events = || {
            let span = error_span!("request", request_id = %"a-1", key_id = Empty, trace_id = Empty);
            span.record("key_id", "key \"7\"");
            span.in_scope(|| {
                let path = "/a\n\u{7f}é\\";
                info!(%path, status = 200, negative = -1, duration_ms = 0.25, whole = 3.0, "answered {}", "\"it\"");
                warn!(is_late = true, none = None::<&str>, debug = ?Some("x"), r#type = "t");
            });
            info!("without a span");
        };
        let ours = parsed(&text_of(events));
        assert_eq!(ours.len(), 3);
        assert_eq!(ours, parsed(&reference_text_of(events)));
        assert_eq!(
            ours[0]["span"],
            json!({ "name": "request", "request_id": "a-1", "key_id": "key \"7\"" })
        );
    }

    #[test]
    fn number_that_json_lacks_is_null() {
        let lines = parsed(&text_of(|| info!(value = f64::NAN, "no number")));
        assert_eq!(lines[0]["value"], Value::Null);
    }

    #[derive(Clone, Copy)]
    struct FailsToFormat;

    impl Debug for FailsToFormat {
        fn fmt(&self, out: &mut Formatter<'_>) -> Result {
            out.write_str("begun")?;
            Err(Error)
        }
    }

    #[test]
    fn value_that_fails_to_format_loses_no_line() {
        let lines = parsed(&text_of(|| {
            let span = error_span!("request", request_id = "a-1", value = ?FailsToFormat, key_id = Empty);
            span.record("key_id", debug(FailsToFormat));
            span.in_scope(|| info!(value = ?FailsToFormat, after = 1, "kept"));
        }));
        let span = json!({ "name": "request", "request_id": "a-1", "value": "begun", "key_id": "begun" });
        assert_eq!(
            lines,
            [json!({
                "level": "INFO", "message": "kept", "value": "begun", "after": 1, "span": span,
                "target": "keyward::logging::json_lines::tests",
            })]
        );
    }

    #[test]
    fn control_characters_are_escaped_and_read_back() {
        let path = "\u{7f}\u{9b}2J\u{85}\u{2028}\u{2029}\u{202e}\u{2066}\u{2069}\t\r\n\u{1b}é…\u{1f511}";
        let text = text_of(|| info!(path, "asked"));
        let escaped = r"\u007f\u009b2J\u0085\u2028\u2029\u202e\u2066\u2069\u0009\u000d\n\u001bé…";
        assert!(text.contains(&format!("\"{escaped}\u{1f511}\"")), "{text}");
        assert_eq!(parsed(&text)[0]["path"], path);
    }
}
