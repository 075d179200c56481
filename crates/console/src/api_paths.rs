//! Paths of the HTTP API that pages name. The console imports no other adapter, so it has them once more; whoever serves both
//! makes sure that they are the same.

/// Whom a key acts as.
pub const USER: &str = "/api/v1/user";
/// The projects that a key reaches.
pub const PROJECTS: &str = "/api/v1/user/projects";
/// The page on which people read about the API.
pub const REFERENCE: &str = "/docs";
