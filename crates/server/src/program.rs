//! The command by which this program was started: after `cargo run` it is not on the search path, so a
//! sentence that says what to type has to name it as it was started.

/// Such as `keyward` or `target/debug/keyward`.
pub(crate) fn name() -> String {
    match std::env::args_os().next() {
        Some(name) if !name.is_empty() => name.to_string_lossy().into_owned(),
        Some(_) | None => "keyward".to_owned(),
    }
}
