//! One module per command.

pub(crate) mod admin_audit_log;
pub(crate) mod admin_bootstrap;
pub(crate) mod admin_create_organization;
pub(crate) mod admin_create_user;
pub(crate) mod admin_remove_member;
pub(crate) mod admin_repeat_revocations;
pub(crate) mod admin_reset_password;
pub(crate) mod admin_revoke;
pub(crate) mod admin_setup_link;
pub(crate) mod clean_up;
pub(crate) mod export;
pub(crate) mod healthcheck;
pub(crate) mod import;
pub(crate) mod migrate;
pub(crate) mod openapi;
pub(crate) mod replicas;
pub(crate) mod serve;
pub(crate) mod token_check;
pub(crate) mod verifier_create;

mod failure;
mod new_password;
mod organization;

pub(crate) use failure::Failure;
