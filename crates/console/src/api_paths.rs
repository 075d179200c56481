//! Paths of the HTTP API that pages link to. The console does not depend on the API's crate, so it repeats them; a test
//! in the server compares the two.

/// The user of the calling key.
pub const USER: &str = "/api/v1/user";
/// The projects that a key reaches.
pub const PROJECTS: &str = "/api/v1/user/projects";
/// The page on which people read about the API.
pub const REFERENCE: &str = "/docs";
