//! Spans of work on the database, for the traces of requests and background tasks.

use std::any::type_name;

use keyward_domain::ports::StorageError;
use tracing::field::Empty;
use tracing::level_filters::LevelFilter;
use tracing::{Span, trace_span};

/// The target of spans that are part of traces. It is no module's, so that the log can leave it out and
/// nothing else.
pub const TRACES: &str = "keyward_traces";

/// The span that spawned work is part of; none if there is no trace.
///
/// Compares with the greatest level of all subscribers, which is the cheapest check: traces enable every
/// level. `span_enabled!` would leave the filters of the layers in a wrong state for the next span.
pub(crate) fn current() -> Span {
    if LevelFilter::current() == LevelFilter::TRACE {
        Span::current()
    } else {
        Span::none()
    }
}

/// The operation on the database, by OpenTelemetry's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    /// A transaction that changes something.
    Change,
    /// Waiting for a connection, and opening it.
    Connect,
}

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Change => "change",
            Self::Connect => "connect",
        }
    }
}

/// A span that begins now and ends when it is dropped. `W` is the type of the work, whose name contains that
/// of the port's method. Outside of a trace, there is none, so a poll, twice a second, leaves no spans.
pub(crate) fn span<W>(system: &'static str, operation: Operation) -> Span {
    if current().is_none() {
        return Span::none();
    }
    let name = match operation {
        Operation::Connect => None,
        Operation::Read | Operation::Change => port_method(type_name::<W>()),
    };
    span_of(name.unwrap_or(operation.name()), system, operation)
}

/// A span likewise, of work that others do in their own.
pub(crate) fn span_of(name: &'static str, system: &'static str, operation: Operation) -> Span {
    if current().is_none() {
        return Span::none();
    }
    trace_span!(
        target: TRACES,
        "database",
        otel.name = name,
        otel.kind = "client",
        otel.status_code = Empty,
        error.r#type = Empty,
        db.system.name = system,
        db.operation.name = operation.name(),
    )
}

/// Says how it ended, without the database's own words, which may hold values.
pub(crate) fn end<T>(span: &Span, outcome: &Result<T, StorageError>) {
    let Err(error) = outcome else { return };
    if span.is_none() {
        return;
    }
    span.record("otel.status_code", "ERROR");
    let error = match error {
        StorageError::Unavailable(_) => "unavailable",
        StorageError::OutcomeUnknown(_) => "outcome_unknown",
        StorageError::Corrupt { .. } => "corrupt",
        StorageError::Defect(_) => "defect",
    };
    span.record("error.type", error);
}

/// `list` of `…::<impl … for …>::list<'_>::{{closure}}::{{closure}}`, the function that a closure stands in.
/// That may in turn be an argument of the type of a closure around it, as in
/// `…::read<…::list::{{closure}}>::{{closure}}`.
fn port_method(code: &'static str) -> Option<&'static str> {
    let (functions, _) = code.rsplit_once("::{{closure}}")?;
    let functions = functions.split("::{{closure}}");
    let names = functions.filter_map(|function| function.rsplit("::").next()?.split('<').next());
    names.filter(|name| is_name(name)).last()
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of closures, as the stores' methods pass them.
    fn name_of<W>(_work: &W) -> &'static str {
        type_name::<W>()
    }

    #[test]
    fn code_of_a_closure_names_its_function() {
        let outer = || ();
        let within = async { || () };
        for code in [name_of(&outer), name_of(&within)] {
            assert_eq!(
                port_method(code),
                Some("code_of_a_closure_names_its_function"),
                "{code}"
            );
        }
        let around = "store::<impl Keys for Store>::list<'_, '_>::{{closure}}::{{closure}}";
        assert_eq!(port_method(around), Some("list"));
        let generic = "ready::<impl Store>::read<u8, keys::list<'_>::{{closure}}>::{{closure}}::{{closure}}";
        assert_eq!(port_method(generic), Some("list"));
        assert_eq!(port_method("alloc::boxed::Box<dyn Fn()>"), None);
        assert_eq!(port_method(""), None);
    }

    #[test]
    fn work_outside_of_a_trace_has_no_span() {
        assert!(span::<()>("sqlite", Operation::Read).is_none());
    }
}
