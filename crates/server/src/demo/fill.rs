//! How the made-up data gets into the database: by the use cases, one organization after the other.

use std::sync::Arc;

use keyward_domain::api_key::{KeyDescription, KeyName};
use keyward_domain::keys::KeyDraft;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sources::Sources;
use keyward_domain::token::Token;

use super::one_hash::OneHash;
use super::past::{Past, StepError};
use super::scenario::Scenario;
use super::scenario_runner::ScenarioRunner;
use crate::password_hasher::Argon2idHasher;
use crate::store::Store;

/// The name of the owner's key for the command line that is printed; made at the start.
pub(super) const TERMINAL: &str = "Terminal";

/// How to get in.
pub(super) struct Access {
    /// The first organization's owner.
    pub(super) username: String,
    /// The password of all users.
    pub(super) password: Password,
    /// The token of a key of the owner.
    pub(super) token: Token,
}

/// Fills an empty database with made-up data, which ends now.
pub(super) async fn fill(sources: &Sources, store: Arc<dyn Store>) -> Result<Access, StepError> {
    let now = sources.now();
    let hasher = Arc::new(OneHash::new(Argon2idHasher::new(Arc::new(sources.clone()))));
    let password = Password::generate(sources);
    let past = |scenario: &Scenario| Past::new(scenario, now, sources, &hasher, &store);

    let first = Scenario::first_organization()?;
    let first_past = past(&first);
    let slug = first_past.set_up(&first, &password).await?;
    let mut runner = ScenarioRunner::new(&first_past, &first, slug, &password);
    runner.run().await?;
    first_past.clock.move_to(now);
    let username = first.owner.username.clone();
    let draft = KeyDraft {
        description: KeyDescription::parse("For the curl line that the demo printed.")?,
        can_manage_keys: Some(true),
        ..KeyDraft::named(KeyName::parse(TERMINAL)?)
    };
    let token = runner.issue(&username, draft).await?.token;

    let second = Scenario::second_organization()?;
    let second_past = past(&second);
    let slug = second_past.create_organization(&second).await?;
    ScenarioRunner::new(&second_past, &second, slug, &password)
        .run()
        .await?;
    Ok(Access {
        username,
        password,
        token,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chrono::{DateTime, TimeDelta, Utc};
    use keyward_domain::administration::Authority;
    use keyward_domain::administration::ports::{HeldKey, OrganizationKeyFilter};
    use keyward_domain::api_key::RevocationReason;
    use keyward_domain::audit::Actor;
    use keyward_domain::organization::Organization;
    use keyward_domain::page::{PageRequest, PageSize};
    use keyward_domain::ports::{KeyLimit, StatusFilter};
    use keyward_domain::validity::End;
    use keyward_persistence::sqlite::SqliteConfig;

    use super::*;
    use crate::composition::{Composition, sources_of_this_machine};
    use crate::demo::temporary_directory::TemporaryDirectory;
    use crate::random::OsRandom;
    use crate::storage::{Database, open_to_serve};

    /// The name of a kind of keys, and the condition for it.
    type Kind<'a> = (&'a str, &'a dyn Fn(&HeldKey) -> bool);

    /// The database of the demo with its data.
    struct Filled {
        now: DateTime<Utc>,
        use_cases: Composition,
        organizations: Vec<Organization>,
        _directory: TemporaryDirectory,
    }

    impl Filled {
        async fn new() -> Self {
            let directory = TemporaryDirectory::create(&OsRandom).unwrap();
            let database = Database::Sqlite(SqliteConfig::in_directory(directory.path()));
            let (store, _) = open_to_serve(database).await.unwrap();
            let sources = sources_of_this_machine();
            let now = sources.now();
            fill(&sources, store.clone()).await.unwrap();
            let use_cases = Composition::new(sources, store);
            let organizations = use_cases.accounts().organizations().await.unwrap();
            Self {
                now,
                use_cases,
                organizations,
                _directory: directory,
            }
        }

        fn authority(&self, slug: &str) -> Authority {
            let mut organizations = self.organizations.iter();
            let organization = organizations.find(|organization| organization.slug.as_str() == slug);
            Authority::of_administrator(organization.unwrap().id)
        }

        async fn keys(&self) -> Vec<HeldKey> {
            let authority = self.authority("acme-robotics");
            let (keys, mut found, mut after) = (self.use_cases.organization_keys(), Vec::new(), None);
            loop {
                let filter = OrganizationKeyFilter::new(StatusFilter::All, None);
                let size = PageSize::DEFAULT;
                let page = keys
                    .list(&authority, filter, PageRequest { size, after }, self.now)
                    .await
                    .unwrap();
                found.extend(page.items);
                after = page.next;
                if after.is_none() {
                    return found;
                }
            }
        }
    }

    #[tokio::test]
    async fn demo_has_keys_of_every_kind() {
        let filled = Filled::new().await;
        let keys = filled.keys().await;
        let is_old = |at: DateTime<Utc>| at < filled.now - TimeDelta::days(90);
        let ago = |key: &HeldKey| key.last_use.map(|last| filled.now - last.at);
        let parent = |key: &HeldKey| keys.iter().find(|other| Some(other.id) == key.parent());
        let revoked = |key: &HeldKey, reason, by: fn(Actor) -> bool| {
            key.revocation
                .as_ref()
                .is_some_and(|it| it.reason == reason && by(it.by))
        };
        let is_person = |by| matches!(by, Actor::User(_));
        let is_administrator = |by| matches!(by, Actor::Administrator);
        let kinds: [Kind<'_>; 16] = [
            ("never used", &|key| {
                key.is_valid(filled.now) && key.last_use.is_none()
            }),
            ("used minutes ago", &|key| {
                ago(key).is_some_and(|ago| ago < TimeDelta::hours(1))
            }),
            ("used days ago", &|key| {
                ago(key).is_some_and(|ago| (2..30).contains(&ago.num_days()))
            }),
            ("used months ago", &|key| {
                ago(key).is_some_and(|ago| ago > TimeDelta::days(60))
            }),
            ("used over IPv6", &|key| {
                key.last_use
                    .and_then(|last| last.from)
                    .is_some_and(|from| from.to_string().contains(':'))
            }),
            ("unused for 90 days", &|key| {
                key.is_valid(filled.now)
                    && is_old(key.created_at)
                    && key.last_use.is_none_or(|last| is_old(last.at))
            }),
            ("revoked by its holder", &|key| {
                revoked(key, RevocationReason::Holder, is_person)
            }),
            ("revoked by another key", &|key| {
                revoked(key, RevocationReason::Holder, |by| matches!(by, Actor::ApiKey(_)))
            }),
            ("revoked by an owner", &|key| {
                revoked(key, RevocationReason::Owner, is_person)
            }),
            ("revoked for a leak", &|key| {
                revoked(key, RevocationReason::Leak, is_administrator)
            }),
            ("revoked by an administrator", &|key| {
                revoked(key, RevocationReason::Administrator, is_administrator)
            }),
            ("revoked with a word to its holder", &|key| {
                key.revocation
                    .as_ref()
                    .is_some_and(|revocation| revocation.note.is_some())
            }),
            ("the first owner's, revoked by another owner", &|key| {
                key.holder.user.username.as_str() == "ada" && revoked(key, RevocationReason::Owner, is_person)
            }),
            ("a valid key of somebody who left", &|key| {
                key.is_valid(filled.now) && !key.holder.membership.is_live(filled.now)
            }),
            ("created by a revoked key of a valid one", &|key| {
                key.is_valid(filled.now)
                    && parent(key).is_some_and(|middle| {
                        !middle.is_valid(filled.now) && parent(middle).is_some_and(|_| true)
                    })
            }),
            ("three steps from its first ancestor", &|key| {
                parent(key)
                    .and_then(parent)
                    .is_some_and(|ancestor| parent(ancestor).is_some())
            }),
        ];
        for (kind, is_of_kind) in kinds {
            assert!(keys.iter().any(is_of_kind), "no key is {kind}");
        }
        let of_chidi = keys
            .iter()
            .filter(|key| key.is_valid(filled.now) && key.holder.user.username.as_str() == "chidi");
        let room = usize::try_from(KeyLimit::default().0).unwrap() - of_chidi.count();
        assert!(
            (1..=10).contains(&room),
            "a member is near the limit: room for {room}"
        );
    }

    #[tokio::test]
    async fn demo_keys_are_used_only_between_creation_and_end() {
        let filled = Filled::new().await;
        for key in filled.keys().await {
            let Some(last) = key.last_use else { continue };
            let ended = key.holder.membership.end.map(End::at);
            let ended = ended.into_iter().chain(key.end().map(End::at)).min();
            assert!(key.created_at < last.at && last.at <= filled.now, "{}", key.name);
            assert!(ended.is_none_or(|ended| last.at < ended), "{}", key.name);
        }
    }

    #[tokio::test]
    async fn demo_has_pending_and_expired_invitations() {
        let filled = Filled::new().await;
        let invitations = filled.use_cases.invitations();
        let page = PageRequest::first(PageSize::DEFAULT);
        let pending = invitations
            .pending(&filled.authority("acme-robotics"), page)
            .await
            .unwrap()
            .items;
        let open: BTreeSet<bool> = pending.iter().map(|one| one.is_open(filled.now)).collect();
        assert_eq!(
            open,
            BTreeSet::from([false, true]),
            "used and revoked ones are in the audit log"
        );
    }
}
