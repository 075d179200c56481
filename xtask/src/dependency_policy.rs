//! How `cargo deny` is asked about licences, layers and sources.

/// The part of `deny.toml` that is judged without the network. The workspace and the project in `examples`
/// share the file, so each of them leaves some of its exceptions unused.
pub(crate) const DEPENDENCY_POLICY: &[&str] = &[
    "deny",
    "--offline",
    "check",
    "--allow",
    "unused-wrapper",
    "--allow",
    "license-not-encountered",
    "licenses",
    "bans",
    "sources",
];
