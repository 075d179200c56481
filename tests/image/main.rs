//! The image and the Debian package as `docs/install.md` has them run: alone with a volume, by `compose.yaml`
//! with PostgreSQL, and as a service of systemd. From the first link to the first key, a request with it, and
//! another one after a restart.
//!
//! `cargo xtask image` builds `keyward` and runs this with it; it needs a container engine.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed expectation is a failed run, which says what it did"
)]

mod deployment;
mod engine;
mod machine;

use deployment::Deployment;
use keyward_tests::api::Api;
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::OWNER_PASSWORD;

#[tokio::main]
async fn main() {
    let image = engine::build_image();
    for deployment in [Deployment::alone(&image), Deployment::with_postgres(&image)] {
        println!("{}", deployment.name());
        from_first_link_to_restart(&deployment).await;
    }
    let machine = engine::build_machine();
    let service = Deployment::as_service(&machine);
    println!("{}", service.name());
    let first = from_first_link_to_restart(&service).await;
    from_kill_to_removal(&service, &first).await;
}

async fn from_first_link_to_restart(deployment: &Deployment) -> Api {
    deployment.wait_until_healthy().await;
    let link = deployment.keyward("admin setup-link", "");
    assert!(
        link.starts_with(deployment.base_url()),
        "the link leads elsewhere than to {}",
        deployment.base_url()
    );
    // For a user with a terminal and no browser.
    let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
    deployment.keyward(bootstrap, OWNER_PASSWORD);
    let console = PlainConsole::sign_in(deployment.base_url(), "ada", OWNER_PASSWORD).await;
    let first = console.api_with_first_key().await;
    first.create("second", "created with the first").await;

    deployment.restart();
    deployment.wait_until_healthy().await;
    assert!(first.is_accepted().await, "the first key after a restart");
    let keys = first.list("").await;
    assert_eq!(keys["items"].as_array().map(Vec::len), Some(2), "{keys}");
    first
}

async fn from_kill_to_removal(service: &Deployment, first: &Api) {
    machine::kill(&service.container());
    service.wait_until_healthy().await;
    assert!(
        first.is_accepted().await,
        "the first key after the server was killed"
    );
    machine::upgrade(&service.container());
    service.wait_until_healthy().await;
    assert!(first.is_accepted().await, "the first key after an upgrade");
    let left = machine::remove(&service.container());
    assert!(left.contains("keyward.db"), "removal removes the data: {left}");
}
