//! A console that serves.

use std::sync::Arc;

use keyward_console::Console;
use keyward_domain::id::SessionId;
use keyward_domain::membership::{Member, Role};
use keyward_domain::public_url::PublicUrl;
use keyward_domain::sign_in::ports::AccountStore as _;
use keyward_domain::testing::TestInstallation;
use keyward_domain::user::Username;
use keyward_front_door::{FrontDoor, FrontDoorConfig};
use tokio::net::TcpListener;

use crate::browser::Browser;
use crate::in_memory::console_over;

pub(crate) const LIST: &str = "/organizations/acme/settings/api-keys";
pub(crate) const NEW: &str = "/organizations/acme/settings/api-keys/new";

/// A console on a port of its own, over an installation in memory.
pub(crate) struct Running {
    pub(crate) installation: TestInstallation,
    pub(crate) public_url: PublicUrl,
    pub(crate) port: u16,
}

impl Running {
    /// Not set up yet.
    pub(crate) async fn new() -> Self {
        Self::with(TestInstallation::new(), None, |_| ()).await
    }

    /// With the organization `acme` and its member `ada`.
    pub(crate) async fn with_ada() -> (Self, Member) {
        let running = Self::new().await;
        let ada = running.ada();
        (running, ada)
    }

    /// Reached by https, as behind a proxy.
    pub(crate) async fn behind_https() -> Self {
        let running = Self::with(TestInstallation::new(), Some("https://keys.example.com"), |_| ()).await;
        running.ada();
        running
    }

    /// With a console that differs.
    pub(crate) async fn with(
        installation: TestInstallation,
        public_url: Option<&str>,
        change: impl FnOnce(&mut Console),
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let local = format!("http://127.0.0.1:{port}");
        let public_url = PublicUrl::parse(public_url.unwrap_or(&local)).unwrap();
        let mut console = console_over(&installation, public_url.clone());
        change(&mut console);
        let ids = Arc::clone(&installation.builder.ids);
        let mut config = FrontDoorConfig::new(Arc::new(move || ids.next::<SessionId>().as_uuid()));
        config.https = public_url.is_https();
        let door = FrontDoor::new(config).unwrap();
        tokio::spawn(door.serve(listener, console.endpoint(), std::future::pending()));
        Self {
            installation,
            public_url,
            port,
        }
    }

    fn ada(&self) -> Member {
        let acme = self.installation.organization("Acme");
        self.installation.member(&acme, "ada", Role::Owner)
    }

    /// A browser without cookies.
    pub(crate) fn visitor(&self) -> Browser {
        Browser::new(self.port)
    }

    /// A browser in which a member is signed in.
    pub(crate) async fn signed_in(&self, username: &str) -> Browser {
        let browser = self.visitor();
        let answer = browser
            .post(
                "/sign-in",
                &[("username", username), ("password", TestInstallation::PASSWORD)],
            )
            .await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        let username = Username::parse(username).unwrap();
        let account = self.installation.store.find(&username).await.unwrap().unwrap();
        browser.fill_in_forms_of(&account.user.id.to_string());
        browser
    }
}
