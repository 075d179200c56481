//! Property test: after any sequence of holders' actions, the rules of a key's life hold.

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::access::AuthenticateError;
use keyward_domain::api_key::{ApiKey, KeyEdit, KeyName, KeyPrecondition};
use keyward_domain::audit::{Action, RequestSource};
use keyward_domain::clock::Clock;
use keyward_domain::holder::Holder;
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{AddKeyError, EditKeyError, KeyDraft};
use keyward_domain::membership::{Member, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{DescendantKeys, KeyFilter, KeyLimit, KeyLimits, StatusFilter};
use keyward_domain::rate::Rate;
use keyward_domain::testing::TestInstallation;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

const LIMIT: KeyLimit = KeyLimit(4);

/// One action. Numbers choose among the people and keys that exist then.
#[derive(Debug, Clone)]
enum Step {
    IssueInConsole { person: usize },
    IssueByKey { key: usize },
    Revoke { key: usize, descendants: bool },
    RevokeByKey { key: usize, target: usize },
    Edit { key: usize, name: u8 },
    Leave { person: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2_usize).prop_map(|person| Step::IssueInConsole { person }),
        6 => any::<usize>().prop_map(|key| Step::IssueByKey { key }),
        3 => (any::<usize>(), any::<bool>()).prop_map(|(key, descendants)| Step::Revoke { key, descendants }),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(key, target)| Step::RevokeByKey { key, target }),
        2 => (any::<usize>(), 0..4_u8).prop_map(|(key, name)| Step::Edit { key, name }),
        1 => (0..8_usize).prop_map(|person| Step::Leave { person }),
    ]
}

/// The expected state of a key, by the rules alone.
struct ModelKey {
    id: ApiKeyId,
    person: usize,
    parent: Option<usize>,
    name: String,
    revoked_at: Option<DateTime<Utc>>,
    token: String,
}

struct World {
    installation: TestInstallation,
    people: Vec<Member>,
    gone: Vec<bool>,
    keys: Vec<ModelKey>,
    expected_revocations: usize,
}

impl World {
    fn new() -> Self {
        let installation = TestInstallation {
            limits: KeyLimits {
                valid: LIMIT,
                changes: Rate::per_minute(60, 10_000),
            },
            ..TestInstallation::new()
        };
        let acme = installation.organization("Acme");
        let people = ["ada", "bob"].map(|name| installation.member(&acme, name, Role::Member));
        Self {
            installation,
            people: people.into(),
            gone: vec![false; 2],
            keys: Vec::new(),
            expected_revocations: 0,
        }
    }

    fn now(&self) -> DateTime<Utc> {
        self.installation.builder.clock.now()
    }

    fn is_accepted(&self, key: usize) -> bool {
        let key = &self.keys[key];
        key.revoked_at.is_none() && !self.gone[key.person]
    }

    fn valid_keys(&self, person: usize) -> usize {
        let of_person = self.keys.iter().filter(|key| key.person == person);
        of_person.filter(|key| key.revoked_at.is_none()).count()
    }

    fn descends(&self, key: usize, ancestor: usize) -> bool {
        match self.keys[key].parent {
            Some(parent) => parent == ancestor || self.descends(parent, ancestor),
            None => false,
        }
    }

    async fn take(&mut self, step: Step) {
        self.installation.builder.clock.advance(TimeDelta::seconds(1));
        let some = |number: usize| (!self.keys.is_empty()).then(|| number % self.keys.len());
        match step {
            Step::IssueInConsole { person } => {
                let holder = self.people[person].as_holder();
                self.issue(person, None, holder).await;
            }
            Step::IssueByKey { key } => {
                if let Some(parent) = some(key)
                    && let Some(holder) = self.holder_through(parent).await
                {
                    self.issue(self.keys[parent].person, Some(parent), holder).await;
                }
            }
            Step::Revoke { key, descendants } => {
                if let Some(key) = some(key) {
                    let holder = self.people[self.keys[key].person].as_holder();
                    self.revoke(key, descendants, holder).await;
                }
            }
            Step::RevokeByKey { key, target } => {
                if let (Some(key), Some(target)) = (some(key), some(target))
                    && let Some(holder) = self.holder_through(key).await
                {
                    if self.keys[key].person == self.keys[target].person {
                        self.revoke(target, true, holder).await;
                    } else {
                        let id = self.keys[target].id;
                        let keys = self.installation.keys();
                        let source = RequestSource::default();
                        let refused = keys
                            .revoke(
                                &holder,
                                id,
                                DescendantKeys::Revoke,
                                KeyPrecondition::AnyVersion,
                                source,
                            )
                            .await;
                        refused.expect_err("another holder's key");
                    }
                }
            }
            Step::Edit { key, name } => {
                if let Some(key) = some(key) {
                    self.edit(key, &format!("name {name}")).await;
                }
            }
            // Few leave, or little would happen.
            Step::Leave { person } => {
                if let Some(gone) = self.gone.get_mut(person) {
                    *gone = true;
                    let id = self.people[person].membership.id;
                    self.installation.store.end_membership(id, self.now());
                }
            }
        }
    }

    /// The holder of a key's token, if the key is accepted; asserts that the model agrees.
    async fn holder_through(&self, key: usize) -> Option<Holder> {
        let answer = self
            .installation
            .authenticate()
            .caller(&self.keys[key].token, None)
            .await;
        match answer {
            Ok(caller) => {
                assert!(self.is_accepted(key), "a dead key was accepted");
                assert_eq!(caller.api_key().id, self.keys[key].id);
                assert_eq!(
                    caller.consumer().id,
                    self.people[self.keys[key].person].membership.id
                );
                Some(caller.as_holder())
            }
            Err(AuthenticateError::InvalidToken) => {
                assert!(!self.is_accepted(key), "a live key was refused");
                None
            }
            Err(AuthenticateError::Storage(error)) => panic!("{error}"),
        }
    }

    async fn issue(&mut self, person: usize, parent: Option<usize>, holder: Holder) {
        let name = format!("key {}", self.keys.len());
        let draft = KeyDraft::named(KeyName::parse(&name).expect("a name"));
        let keys = self.installation.keys();
        match keys.issue(&holder, draft, None, RequestSource::default()).await {
            Ok(issued) => {
                assert!(!self.gone[person], "someone who left got a key");
                assert!(self.valid_keys(person) < LIMIT.0 as usize, "a key over the limit");
                assert_eq!(issued.key.parent(), parent.map(|parent| self.keys[parent].id));
                self.keys.push(ModelKey {
                    id: issued.key.id,
                    person,
                    parent,
                    name,
                    revoked_at: None,
                    token: issued.token.expose().to_owned(),
                });
            }
            Err(AddKeyError::HolderGone) => assert!(self.gone[person]),
            Err(AddKeyError::LimitReached(limit)) => {
                assert_eq!(limit, LIMIT);
                assert_eq!(self.valid_keys(person), LIMIT.0 as usize);
            }
            // The model's limit is far below the longest line.
            Err(
                error @ (AddKeyError::MayNotManageKeys
                | AddKeyError::Throttled(_)
                | AddKeyError::AlreadyCreated(_)
                | AddKeyError::IdempotencyKeyReused
                | AddKeyError::InvalidExpiry(_)
                | AddKeyError::InProgress
                | AddKeyError::TreeTooDeep
                | AddKeyError::Storage(_)),
            ) => panic!("{error}"),
        }
    }

    async fn revoke(&mut self, key: usize, descendants: bool, holder: Holder) {
        let now = self.now();
        let expected: Vec<usize> = (0..self.keys.len())
            .filter(|&other| other == key || (descendants && self.descends(other, key)))
            .filter(|&other| self.keys[other].revoked_at.is_none())
            .collect();
        let choice = if descendants {
            DescendantKeys::Revoke
        } else {
            DescendantKeys::Keep
        };
        let id = self.keys[key].id;
        let keys = self.installation.keys();
        let mut revoked = keys
            .revoke(
                &holder,
                id,
                choice,
                KeyPrecondition::AnyVersion,
                RequestSource::default(),
            )
            .await
            .expect("an own key");
        revoked.sort_unstable();
        // Keys of the model are in the order of their identifiers.
        let expected_ids: Vec<ApiKeyId> = expected.iter().map(|&other| self.keys[other].id).collect();
        assert_eq!(revoked, expected_ids);
        self.expected_revocations += expected.len();
        for other in expected {
            self.keys[other].revoked_at = Some(now);
        }
    }

    async fn edit(&mut self, key: usize, name: &str) {
        let edit = KeyEdit {
            name: Some(KeyName::parse(name).expect("a name")),
            ..KeyEdit::default()
        };
        let person = self.keys[key].person;
        let holder = self.people[person].as_holder();
        let id = self.keys[key].id;
        let keys = self.installation.keys();
        match keys
            .edit(
                &holder,
                id,
                edit,
                KeyPrecondition::AnyVersion,
                RequestSource::default(),
            )
            .await
        {
            Ok(edited) => {
                assert_eq!(self.keys[key].revoked_at, None, "a revoked key was edited");
                assert_eq!(edited.name.as_str(), name);
                name.clone_into(&mut self.keys[key].name);
            }
            Err(EditKeyError::Revoked) => assert!(self.keys[key].revoked_at.is_some()),
            Err(EditKeyError::HolderGone) => assert!(self.gone[person]),
            Err(
                error @ (EditKeyError::Throttled(_)
                | EditKeyError::NotFound
                | EditKeyError::PreconditionFailed
                | EditKeyError::CannotExtendLife(_)
                | EditKeyError::InvalidExpiry(_)
                | EditKeyError::Storage(_)),
            ) => panic!("{error}"),
        }
    }

    async fn assert_as_expected(&self) {
        for key in 0..self.keys.len() {
            self.holder_through(key).await;
        }
        for person in 0..self.people.len() {
            assert!(self.valid_keys(person) <= LIMIT.0 as usize);
            let mut expected: Vec<_> = self
                .keys
                .iter()
                .filter(|key| key.person == person)
                .map(|key| (key.id, key.name.clone(), key.revoked_at))
                .collect();
            expected.reverse();
            let listed: Vec<_> = self
                .listed(person)
                .await
                .into_iter()
                .map(|key| {
                    (
                        key.id,
                        key.name.as_str().to_owned(),
                        key.revocation.map(|revocation| revocation.end.at()),
                    )
                })
                .collect();
            assert_eq!(listed, expected);
        }
        let events = self.installation.store.events();
        let count = |action| events.iter().filter(|event| event.action == action).count();
        assert_eq!(count(Action::CreateApiKey), self.keys.len());
        assert_eq!(count(Action::RevokeApiKey), self.expected_revocations);
    }

    async fn listed(&self, person: usize) -> Vec<ApiKey> {
        let holder = self.people[person].as_holder();
        let filter = KeyFilter::new(StatusFilter::All, None);
        let mut keys = Vec::new();
        let mut after = None;
        loop {
            let request = PageRequest {
                size: PageSize::new(3).expect("a page size"),
                after,
            };
            let page = self
                .installation
                .keys()
                .list(&holder, filter.clone(), request, self.installation.now())
                .await
                .expect("the store answers");
            keys.extend(page.items);
            after = page.next;
            if after.is_none() {
                return keys;
            }
        }
    }
}

proptest! {
    #![proptest_config(Config { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() })]

    #[test]
    fn random_operations_keep_every_key_invariant(steps in proptest::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let mut world = World::new();
            for step in steps {
                world.take(step).await;
                world.assert_as_expected().await;
            }
        });
    }
}
