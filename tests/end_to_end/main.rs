//! The product as its users meet it: the real binary, real databases, a real browser.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod access_matrix;
mod accessibility;
mod browser;
mod console_pages;
mod docs_page;
mod document_linters;
mod gateways;
mod generated_clients;
mod introspection;
mod journey;
mod layout;
mod lifetime;
mod log_failures;
mod narrow_pages;
mod organization_journey;
mod others;
mod outage;
mod planned_ends;
mod printing;
mod projects;
mod rate_limits;
mod refusals;
mod release;
mod replicas;
mod resource_servers;
mod restricted_keys;
mod retries;
mod secret_scanners;
mod service_command;
