//! Serves the console on in-memory adapters with demonstration data: `cargo run -p keyward-console --example preview`.
//!
//! Sign in at `http://127.0.0.1:8099` as `ada`, `grace` (who has no key yet) or `lin` (who belongs nowhere).
//! `preview setup` starts with the first run instead and prints its link. Nothing is kept.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program for developers, on a terminal"
)]

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_console::{Console, PublicUrl};
use keyward_domain::api_key::{KeyDescription, KeyEdit};
use keyward_domain::audit::RequestSource;
use keyward_domain::holder::Holder;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::DescendantKeys;
use keyward_domain::sign_in::password::Password;
use keyward_domain::testing::{PlainHasher, TestInstallation};
use keyward_front_door::{FrontDoor, FrontDoorConfig};

const ADDRESS: &str = "127.0.0.1:8099";

#[tokio::main]
async fn main() {
    let installation = TestInstallation::new();
    let public_url = PublicUrl::parse(&format!("http://{ADDRESS}")).expect("a public URL");
    if std::env::args().nth(1).as_deref() == Some("setup") {
        let setup = installation.setup();
        let token = setup.create_link(RequestSource::default()).await.expect("a link");
        println!("{}", public_url.setup_link(&token));
    } else {
        fill(&installation).await;
        println!("{public_url}, password: {}", TestInstallation::PASSWORD);
    }
    let console = Console {
        setup: installation.setup(),
        sign_in: installation.sign_in(),
        memberships: Arc::new(installation.store.clone()),
        keys: installation.keys(),
        public_url,
    };
    let ids = Arc::clone(&installation.builder.ids);
    let config = FrontDoorConfig::new(Arc::new(move || {
        let id: keyward_domain::id::SessionId = ids.next();
        id.as_uuid()
    }));
    let listener = tokio::net::TcpListener::bind(ADDRESS).await.expect("a free port");
    let door = FrontDoor::new(config).expect("a front door");
    door.serve(listener, console.endpoint(), std::future::pending())
        .await;
}

async fn fill(installation: &TestInstallation) {
    let acme = installation.organization("Acme Robotics");
    let ada = installation.member(&acme, "ada", Role::Owner);
    let _grace = installation.member(&acme, "grace", Role::Member);
    let other = installation.organization("Observatory of the Southern Hemisphere");
    let membership = installation.builder.membership(&other, &ada.user, Role::Member);
    installation.store.put_membership(membership);
    let lin = installation.builder.user("lin");
    let password = Password::attempt(TestInstallation::PASSWORD);
    installation.store.put_user(lin, PlainHasher::hash_of(&password));
    issue_keys(installation, &ada).await;
}

async fn issue_keys(installation: &TestInstallation, ada: &Member) {
    let holder = ada.as_holder();
    let later = |by| installation.builder.clock.advance(by);
    let old = installation.issue(&holder, "Laptop (old)").await;
    later(TimeDelta::days(40));
    installation
        .keys()
        .revoke(
            &holder,
            old.key.id,
            DescendantKeys::Keep,
            RequestSource::default(),
        )
        .await
        .expect("a revocation");
    later(TimeDelta::days(120));
    let deploy = installation.issue(&holder, "Deploy pipeline").await;
    describe(
        installation,
        &holder,
        &deploy,
        "Rolls out the fleet controller.\nOwned by the platform team.",
    )
    .await;
    later(TimeDelta::days(90));
    let child = installation.caller(&deploy).await.as_holder();
    installation.issue(&child, "Preview environments").await;
    later(TimeDelta::days(60));
    let nightly = installation.issue(&child, "Nightly telemetry export").await;
    describe(
        installation,
        &holder,
        &nightly,
        "Reads telemetry; rotated every quarter.",
    )
    .await;
    later(TimeDelta::days(11));
    installation.issue(&holder, "نظام القياس 🛰️").await;
    later(TimeDelta::hours(20));
    installation.issue(&holder, "<script>alert(1)</script>").await;
}

async fn describe(
    installation: &TestInstallation,
    holder: &Holder,
    issued: &keyward_domain::keys::IssuedKey,
    description: &str,
) {
    let edit = KeyEdit {
        name: None,
        description: Some(KeyDescription::parse(description).expect("a description")),
    };
    installation
        .keys()
        .edit(holder, issued.key.id, edit, RequestSource::default())
        .await
        .expect("an edit");
}
