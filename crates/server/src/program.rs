//! What a sentence that says what to type calls this program.

/// The variable that a wrapper sets to its own name: whoever types the name of the program instead runs it
/// without the wrapper's user and options.
pub(crate) const VARIABLE: &str = "KEYWARD_COMMAND";

/// Such as `keyward` or, after `cargo run`, `target/debug/keyward`, which is not on the search path: as it was
/// started.
pub(crate) fn name() -> String {
    let started_as = || std::env::args_os().next();
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    match named.or_else(started_as) {
        Some(name) if !name.is_empty() => name.to_string_lossy().into_owned(),
        Some(_) | None => "keyward".to_owned(),
    }
}
