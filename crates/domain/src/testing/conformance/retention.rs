//! What the [port of retention](crate::retention::ports) promises.

pub(super) mod audit_event_cases;
pub(super) mod clock_cases;
pub(super) mod dead_key_cases;
pub(super) mod ended_invitation_cases;
pub(super) mod expired_session_cases;
pub(super) mod kept_family_cases;
mod scene;
pub(super) mod throttle_bucket_cases;
