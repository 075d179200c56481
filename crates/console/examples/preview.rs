//! Serves the console on in-memory adapters with made-up data: `cargo run -p keyward-console --example preview`.
//!
//! At `http://127.0.0.1:8099`, sign in as one of these users to see different states of the pages:
//!
//! | username | shows |
//! |---|---|
//! | `ada` | keys of every kind, key trees, two organizations, members and invitations |
//! | `grace` | a member without keys |
//! | `olga` | a single key |
//! | `noor` | right-to-left names, and names of the maximum length |
//! | `hedy` | five thousand keys |
//! | `lin` | a user without an organization |
//!
//! `preview setup` starts before the first run and prints the setup link; `preview down` answers as if the
//! database were unavailable. All data is in memory and lost at exit.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program for developers, on a terminal"
)]

#[path = "../tests/console/in_memory.rs"]
mod in_memory;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use keyward_console::{invitation_link, setup_link};
use keyward_domain::administration::InvitationDraft;
use keyward_domain::api_key::{KeyDescription, KeyName, KeyPrecondition};
use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock;
use keyward_domain::holder::Holder;
use keyward_domain::invitation::{InvitationToken, Invitee};
use keyward_domain::keys::{IssuedKey, KeyDraft};
use keyward_domain::membership::{Member, Role};
use keyward_domain::organization::Organization;
use keyward_domain::ports::{DescendantKeys, KeyLimit, KeyLimits};
use keyward_domain::project::ProjectName;
use keyward_domain::public_url::PublicUrl;
use keyward_domain::rate::Rate;
use keyward_domain::sign_in::password::Password;
use keyward_domain::testing::{PlainHasher, TestInstallation};
use keyward_domain::user::DisplayName;
use keyward_front_door::{FrontDoor, FrontDoorConfig};

use in_memory::console_over;

const ADDRESS: &str = "127.0.0.1:8099";

#[tokio::main]
async fn main() {
    let mut preview = Preview::new();
    let public_url = PublicUrl::parse(&format!("http://{ADDRESS}")).expect("a public URL");
    let state = std::env::args().nth(1);
    if state.as_deref() == Some("setup") {
        preview.set_clock(TimeDelta::zero());
        let setup = preview.installation.setup();
        let token = setup.create_link(RequestSource::default()).await.expect("a link");
        println!("{}", setup_link(&public_url, &token));
    } else {
        let invitation = preview.fill().await;
        println!("{public_url}, password: {}", TestInstallation::PASSWORD);
        println!("{}", invitation_link(&public_url, &invitation));
    }
    let installation = preview.installation;
    if state.as_deref() == Some("down") {
        installation.store.go_down();
    }
    let console = console_over(&installation, public_url);
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

/// An installation with data from before the preview's start.
struct Preview {
    installation: TestInstallation,
    start: DateTime<Utc>,
}

impl Preview {
    #[expect(
        clippy::disallowed_methods,
        reason = "the pages show how long ago things happened, so the past has to end today"
    )]
    fn new() -> Self {
        let mut installation = TestInstallation::new();
        installation.limits = KeyLimits {
            valid: KeyLimit(10_000),
            changes: Rate::per_minute(60, 10_000),
        };
        Self {
            installation,
            start: Utc::now(),
        }
    }

    /// Sets the clock to this long before the preview's start.
    fn set_clock(&self, ago: TimeDelta) {
        let clock = &self.installation.builder.clock;
        clock.advance(self.start - ago - clock.now());
    }

    /// Adds the data. Returns the token of an open invitation.
    async fn fill(&mut self) -> InvitationToken {
        self.set_clock(TimeDelta::days(800));
        let acme = self.installation.organization("Acme Robotics");
        let ada = self.member(&acme, "ada", Role::Owner, "Ada Lovelace");
        let grace = self.member(&acme, "grace", Role::Member, "Grace Hopper");
        let olga = self.member(&acme, "olga", Role::Member, "Olga Ladyzhenskaya");
        let hedy = self.member(&acme, "hedy", Role::Member, "Hedy Lamarr");
        let other = self
            .installation
            .organization("Observatory of the Southern Hemisphere");
        let membership = self
            .installation
            .builder
            .membership(&other, &ada.user, Role::Member);
        self.installation.store.put_membership(membership);
        let arabic = self.installation.organization("مرصد الخليج للقياسات الفلكية");
        let noor = self.member(&arabic, "noor", Role::Owner, "نور الهدى بنت عبد الرحمن الصوفي");
        let lin = self.installation.builder.user("lin");
        let password = Password::attempt(TestInstallation::PASSWORD);
        self.installation
            .store
            .put_user(lin, PlainHasher::hash_of(&password));

        self.thousands_of_keys(&hedy.as_holder()).await;
        self.key_trees(&ada.as_holder()).await;
        self.projects(&ada, &grace).await;
        self.unusual_names(&noor.as_holder()).await;
        let olga = olga.as_holder();
        self.key(&olga, TimeDelta::minutes(3), "Laptop", "").await;
        self.invite(&ada, TimeDelta::days(30), "katherine@example.com")
            .await;
        let invitation = self.invite(&ada, TimeDelta::days(1), "Радия Перлман").await;
        self.set_clock(TimeDelta::zero());
        invitation
    }

    async fn invite(&self, owner: &Member, ago: TimeDelta, invitee: &str) -> InvitationToken {
        self.set_clock(ago);
        let draft = InvitationDraft {
            invitee: Invitee::parse(invitee).expect("an invitee"),
            role: Role::Member,
        };
        let authority = owner.as_authority(owner.membership.joined_at).expect("an owner");
        let invitations = self.installation.invitations();
        let issued = invitations.invite(&authority, draft, None, RequestSource::default());
        issued.await.expect("an invitation").token
    }

    /// Adds a user with this display name, as a member of the organization.
    fn member(&self, organization: &Organization, username: &str, role: Role, name: &str) -> Member {
        let builder = &self.installation.builder;
        let mut user = builder.user(username);
        user.display_name = DisplayName::parse(name).expect("a display name");
        let membership = builder.membership(organization, &user, role);
        let password = Password::attempt(TestInstallation::PASSWORD);
        let store = &self.installation.store;
        store.put_user(user.clone(), PlainHasher::hash_of(&password));
        store.put_membership(membership.clone());
        Member {
            user,
            organization: organization.clone(),
            membership,
        }
    }

    async fn projects(&self, owner: &Member, member: &Member) {
        let authority = owner.as_authority(owner.membership.joined_at).expect("an owner");
        let projects = self.installation.projects();
        for (days, name) in [
            (30, "Fleet controller"),
            (20, "مرصد الصحراء الجنوبية"),
            (
                4,
                "Commissioning of the Very Large Interferometric Array on the High Plateau, Phase Two",
            ),
        ] {
            self.set_clock(TimeDelta::days(days));
            let source = RequestSource {
                address: Some([0x2001, 0xdb8, 0x85a3, 0, 0, 0x8a2e, 0x370, 0x7334].into()),
                request_id: Some("0198c0de-0000-7000-8000-000000000000".to_owned()),
            };
            let name = ProjectName::parse(name).expect("a name");
            let project = projects.create(&authority, name, None, source.clone()).await;
            let project = project.expect("a project").id;
            let added = projects
                .add_member(&authority, project, member.membership.id, source)
                .await;
            added.expect("added");
        }
    }

    async fn key_trees(&self, ada: &Holder) {
        let old = self.key(ada, TimeDelta::days(420), "Laptop (old)", "").await;
        self.revoke(ada, &old, TimeDelta::days(380)).await;
        let deploy = self
            .key(
                ada,
                TimeDelta::days(160),
                "Deploy pipeline",
                "Rolls out the fleet controller.\nOwned by the platform team.",
            )
            .await;
        let deploy_holder = self.installation.caller(&deploy).await.as_holder();
        let ago = TimeDelta::days(71);
        self.key(&deploy_holder, ago, "Preview environments", "").await;
        let text = "Reads telemetry; rotated every quarter.";
        let nightly = self
            .key(
                &deploy_holder,
                TimeDelta::days(11),
                "Nightly telemetry export",
                text,
            )
            .await;
        let nightly_holder = self.installation.caller(&nightly).await.as_holder();
        for number in 1..=6 {
            let name = format!("Telemetry shard {number}");
            self.key(&nightly_holder, TimeDelta::days(10), &name, "").await;
        }
        self.key(ada, TimeDelta::days(2), "نظام القياس 🛰️", "").await;
        let text = "Text that looks like HTML stays text.";
        self.key(ada, TimeDelta::hours(20), "<script>alert(1)</script>", text)
            .await;
        let lost = self
            .key(ada, TimeDelta::hours(5), "Conference demo", "For the stand only.")
            .await;
        self.revoke(ada, &lost, TimeDelta::hours(1)).await;
        self.key(ada, TimeDelta::minutes(3), "Laptop", "").await;
    }

    async fn unusual_names(&self, noor: &Holder) {
        for (name, description) in [
            (
                "خط النشر إلى الإنتاج (deploy-v2)",
                "ينشر وحدة التحكم في الأسطول.\nيملكه فريق المنصة.",
            ),
            ("מפתח לניטור לילי", "קורא טלמטריה; מתחלף כל רבעון."),
            ("Экспорт телеметрии", "Только чтение."),
            (
                "夜間テレメトリの書き出し",
                "読み取り専用。四半期ごとに交換します。",
            ),
            ("👩🏽‍🚀🛰️", ""),
            (&"W".repeat(100), &"unbroken".repeat(62)),
            (
                "A name of one hundred characters that a careful person wrote out in full for whoever comes after it",
                &"A description as long as it may be. ".repeat(13),
            ),
        ] {
            self.key(noor, TimeDelta::days(6), name, description).await;
        }
    }

    async fn thousands_of_keys(&self, hedy: &Holder) {
        const COUNT: i32 = 5_000;
        const VALID: i32 = 80;
        for number in 1..=COUNT {
            let ago = TimeDelta::hours(3 * i64::from(COUNT - number) + 1);
            let name = format!("Build {number}");
            let key = self.key(hedy, ago, &name, "One for each build.").await;
            if number <= COUNT - VALID {
                self.revoke(hedy, &key, ago - TimeDelta::minutes(40)).await;
            }
        }
    }

    async fn key(&self, holder: &Holder, ago: TimeDelta, name: &str, description: &str) -> IssuedKey {
        self.set_clock(ago);
        let draft = KeyDraft {
            description: KeyDescription::parse(description).expect("a description"),
            ..KeyDraft::named(KeyName::parse(name).expect("a key name"))
        };
        let keys = self.installation.keys();
        keys.issue(holder, draft, None, RequestSource::default())
            .await
            .expect("a key")
    }

    async fn revoke(&self, holder: &Holder, issued: &IssuedKey, ago: TimeDelta) {
        self.set_clock(ago);
        let keys = self.installation.keys();
        let source = RequestSource::default();
        keys.revoke(
            holder,
            issued.key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            source,
        )
        .await
        .expect("a revocation");
    }
}
