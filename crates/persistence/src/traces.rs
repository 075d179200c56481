//! Spans of work on the database, for whoever traces requests.

/// The target of spans that are part of traces. It is no module's, so that the log can leave it out and nothing else.
pub const TRACES: &str = "keyward_traces";
