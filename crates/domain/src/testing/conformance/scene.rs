//! The scene of cases: organizations, members and their keys.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use futures_util::future::BoxFuture;

use super::KeyStores;
use super::pages::{all_pages, size_of};
use crate::api_key::{ApiKey, Expiry, ExpiryChange, KeyPrecondition, Origin, Revocation, RevocationReason};
use crate::audit::{Act, Action, Actor, AuditEvent, RequestSource, Subject};
use crate::clock::Clock;
use crate::holder::{Holder, KeyReach};
use crate::id::{ApiKeyId, AuditEventId, NewId, OrganizationId, UserId};
use crate::keys::IdempotencyKey;
use crate::membership::{Member, Role};
use crate::organization::Organization;
use crate::page::PageSize;
use crate::ports::{AddKeyError, AuditFilter, DescendantKeys, KeyLimit, KeyLimits, NewApiKey};
use crate::rate::Rate;
use crate::testing::Builder;
use crate::user::User;
use crate::validity::End;

pub(super) use crate::testing::key_edits::everything;

/// More keys than any case adds.
pub(super) const AMPLE: KeyLimit = KeyLimit(1_000);

/// More changes than any case makes, but those about the rate of changes.
pub(super) const MANY_CHANGES: Rate = Rate::new(100_000, TimeDelta::milliseconds(1));

/// No more valid keys than this, and as many changes as the case makes.
pub(super) const fn within(valid: KeyLimit) -> KeyLimits {
    KeyLimits {
        valid,
        changes: MANY_CHANGES,
    }
}

/// Which events these are.
pub(super) fn ids_of<'events>(events: impl IntoIterator<Item = &'events AuditEvent>) -> Vec<AuditEventId> {
    events.into_iter().map(|event| event.id).collect()
}

/// Digests that differ from this one in one byte each, from the first to the last.
pub(super) fn similar_to(digest: &[u8; 32]) -> [[u8; 32]; 32] {
    std::array::from_fn(|byte| {
        let mut similar = *digest;
        similar[byte] ^= 1;
        similar
    })
}

/// A time as events contain it.
pub(super) fn as_value(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Plans the end of a key this long after `now`.
pub(super) fn expiry_in(time: TimeDelta, now: DateTime<Utc>) -> ExpiryChange {
    ExpiryChange::Set(Expiry::new(now + time, now).expect("a time ahead"))
}

/// A store, and what makes its content.
#[derive(Clone)]
pub(super) struct Scene<S = KeyStores> {
    pub(super) stores: S,
    pub(super) make: Builder,
}

impl<S: AsRef<KeyStores>> Scene<S> {
    /// A scene in which an organization has one member, its owner: `ada` of `Analytical Engines`.
    pub(super) async fn with_owner(stores: S) -> (Self, Member) {
        let scene = Self::new(stores);
        let organization = scene.add_organization("Analytical Engines").await;
        let owner = scene.join_as(&organization, "ada", Role::Owner).await;
        (scene, owner)
    }

    pub(super) fn new(stores: S) -> Self {
        let make = Builder::new(1);
        // Stores must keep the milliseconds, too.
        make.clock.advance(TimeDelta::milliseconds(123));
        Self { stores, make }
    }

    fn keys(&self) -> &KeyStores {
        self.stores.as_ref()
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.make.clock.now()
    }

    pub(super) fn later(&self, by: TimeDelta) -> DateTime<Utc> {
        self.make.clock.advance(by);
        self.now()
    }

    /// An identifier that nothing has.
    pub(super) fn id<Id: From<NewId>>(&self) -> Id {
        self.make.ids.next()
    }

    /// Adds a user as member of an organization.
    pub(super) async fn join(&self, organization: &Organization, username: &str) -> Member {
        self.join_as(organization, username, Role::Member).await
    }

    /// Adds a user as member or owner of an organization.
    pub(super) async fn join_as(&self, organization: &Organization, username: &str, role: Role) -> Member {
        let user = self.make.user(username);
        self.keys().arrange.add_user(user.clone()).await;
        self.join_once_more(&user, organization, role).await
    }

    /// Makes an existing user a member of one more organization, or of the same one again.
    pub(super) async fn join_also(&self, user: &User, organization: &Organization) -> Member {
        self.join_once_more(user, organization, Role::Member).await
    }

    async fn join_once_more(&self, user: &User, organization: &Organization, role: Role) -> Member {
        let membership = self.make.membership(organization, user, role);
        self.keys().arrange.add_membership(membership).await;
        self.live_member(user.id, organization).await
    }

    /// The member as they are stored: whether members come back as they were added is the matter of cases of
    /// their own, and all others ask only whether they stay as they are.
    pub(super) async fn live_member(&self, user: UserId, organization: &Organization) -> Member {
        let member = self
            .keys()
            .memberships
            .find_live(user, &organization.slug, self.now())
            .await;
        member.expect("the store answers").expect("a live member")
    }

    pub(super) async fn add_organization(&self, name: &str) -> Organization {
        let organization = self.make.organization(name);
        self.keys().arrange.add_organization(organization.clone()).await;
        organization
    }

    pub(super) async fn end_membership(&self, member: &Member) {
        let now = self.now();
        self.keys()
            .arrange
            .end_membership(member.membership.id, now)
            .await;
    }

    /// Plans the end of a key for a time ahead. Returns the key as then stored.
    pub(super) async fn plan_revocation(&self, key: &ApiKey, at: DateTime<Utc>) -> ApiKey {
        let revocation = Revocation {
            end: End::Planned(at),
            by: Actor::Administrator,
            reason: RevocationReason::Administrator,
            note: None,
        };
        self.keys().arrange.plan_revocation(key, revocation).await;
        self.stored(key).await
    }

    /// Plans that a membership ends at a moment that lies ahead. Returns the member as they are then.
    pub(super) async fn plan_end_of_membership(&self, member: &Member, at: DateTime<Utc>) -> Member {
        let arrange = &self.keys().arrange;
        arrange.plan_end_of_membership(member.membership.id, at).await;
        let mut member = member.clone();
        member.membership.end = Some(End::Planned(at));
        member
    }

    /// An act of the signed-in member.
    pub(super) fn act(&self, member: &Member) -> Act {
        self.act_as(Actor::User(member.user.id), Some(member.organization.id))
    }

    pub(super) fn act_as(&self, actor: Actor, organization_id: Option<OrganizationId>) -> Act {
        Act {
            organization_id,
            source: RequestSource {
                address: Some([192, 0, 2, 7].into()),
                request_id: Some("request-1".to_owned()),
            },
            ..self.make.act(actor)
        }
    }

    /// An event that no store can write, since it has the identifier of one that exists.
    pub(super) async fn unwritable(&self, event: AuditEvent) -> AuditEvent {
        let taken = AuditEvent {
            organization_id: None,
            ..event.clone()
        };
        self.keys()
            .audit_log
            .record(taken)
            .await
            .expect("a new event is recorded");
        event
    }

    /// An act whose first event no store can write.
    pub(super) async fn unwritable_act(&self, act: Act) -> Act {
        let seed = self.id::<ApiKeyId>().as_uuid().as_u64_pair().1;
        let ids = || Builder::new(seed).ids;
        let taken = Act {
            ids: ids(),
            ..act.clone()
        };
        self.unwritable(taken.event(Action::RevokeApiKey, Subject::Installation))
            .await;
        Act { ids: ids(), ..act }
    }

    /// A key that the member creates in the console.
    pub(super) fn new_key(&self, member: &Member, name: &str) -> NewApiKey {
        self.make.new_key(&member.as_holder(), name).0
    }

    /// A key that another key creates through the API.
    pub(super) fn new_child(&self, member: &Member, parent: ApiKeyId, name: &str) -> NewApiKey {
        let holder = Holder {
            acts_through: Origin::Key(parent),
            reach: KeyReach::All,
            ..member.as_holder()
        };
        self.make.new_key(&holder, name).0
    }

    /// Tries to add a key, with its event.
    pub(super) async fn try_add(
        &self,
        member: &Member,
        new: &NewApiKey,
        limit: KeyLimit,
    ) -> Result<ApiKey, AddKeyError> {
        let act = self.act(member);
        self.keys().api_keys.add(new.clone(), within(limit), act).await
    }

    /// Adds a key and returns it as stored: other cases check that it is stored correctly, and the callers
    /// only that it does not change.
    pub(super) async fn store(&self, member: &Member, new: &NewApiKey) -> ApiKey {
        let added = self.try_add(member, new, AMPLE).await;
        self.stored(&added.expect("the key is added")).await
    }

    /// Adds a key that the member creates in the console.
    pub(super) async fn add_key(&self, member: &Member, name: &str) -> ApiKey {
        self.store(member, &self.new_key(member, name)).await
    }

    /// Adds this many keys, of these members by turns, in one step. Returns their identifiers, the newest
    /// first.
    pub(super) async fn add_keys(&self, members: &[Member], count: usize) -> Vec<ApiKeyId>
    where
        S: Clone + Send + Sync + 'static,
    {
        let turns = members.iter().cycle().take(count).enumerate();
        let additions = turns.map(|(number, member)| {
            let new = self.new_key(member, &format!("key {number}"));
            let (scene, member) = (self.clone(), member.clone());
            let task: BoxFuture<'static, ApiKeyId> =
                Box::pin(async move { scene.store(&member, &new).await.id });
            task
        });
        let mut added = self.in_parallel(additions).await;
        added.sort_unstable_by(|one, other| other.cmp(one));
        added
    }

    /// Adds a key that may not manage keys.
    pub(super) async fn add_restricted(&self, member: &Member, name: &str) -> ApiKey {
        let mut new = self.new_key(member, name);
        new.key.can_manage_keys = false;
        self.store(member, &new).await
    }

    /// Adds a key that another key creates through the API.
    pub(super) async fn add_child(&self, member: &Member, parent: &ApiKey, name: &str) -> ApiKey {
        self.store(member, &self.new_child(member, parent.id, name)).await
    }

    /// Adds a chain of keys, each created by the one before it.
    pub(super) async fn add_chain(&self, member: &Member, length: usize) -> Vec<ApiKey> {
        let mut chain = vec![self.add_key(member, "first").await];
        while let Some(last) = chain.last()
            && chain.len() < length
        {
            chain.push(self.add_child(member, last, "next").await);
        }
        chain
    }

    pub(super) fn idempotency_key(&self) -> IdempotencyKey {
        IdempotencyKey::generate(&*self.make.random)
    }

    pub(super) async fn stored(&self, key: &ApiKey) -> ApiKey {
        self.keys()
            .api_keys
            .find(key.consumer_id, key.id)
            .await
            .expect("the store answers")
            .expect("the key exists")
    }

    pub(super) async fn is_stored(&self, key: &ApiKey) -> bool {
        self.keys()
            .api_keys
            .find(key.consumer_id, key.id)
            .await
            .expect("the store answers")
            .is_some()
    }

    /// Revokes a key of the signed-in member.
    pub(super) async fn revoke(
        &self,
        member: &Member,
        key: &ApiKey,
        descendants: DescendantKeys,
    ) -> Vec<ApiKeyId> {
        self.keys()
            .api_keys
            .revoke(
                member.membership.id,
                key.id,
                RevocationReason::Holder.into(),
                descendants,
                KeyPrecondition::AnyVersion,
                self.act(member),
            )
            .await
            .expect("the key is revoked")
    }

    /// Revokes a key as a report of its token does.
    pub(super) async fn leak(&self, holder: &Member, key: &ApiKey) {
        let revoked = self.keys().api_keys.revoke(
            key.consumer_id,
            key.id,
            RevocationReason::Leak.into(),
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            self.act_as(Actor::Anonymous, Some(holder.organization.id)),
        );
        assert_eq!(revoked.await.expect("revoked"), [key.id]);
    }

    /// Every event of an organization, or of none, newest first.
    pub(super) async fn events(&self, organization: Option<OrganizationId>) -> Vec<AuditEvent> {
        let log = &self.keys().audit_log;
        all_pages(size_of(PageSize::MAX), |page| {
            log.list(organization, AuditFilter::default(), page)
        })
        .await
    }

    /// The event as the log shows it, read back from another organization's: whether events read back as they
    /// were written is the matter of cases of their own, and all others ask only whether this is the one that
    /// was to be written.
    pub(super) async fn as_shown(&self, event: AuditEvent) -> AuditEvent {
        let elsewhere = Some(self.id());
        let same = AuditEvent {
            id: self.id(),
            organization_id: elsewhere,
            ..event.clone()
        };
        let recorded = self.keys().audit_log.record(same).await;
        recorded.expect("a new event is recorded");
        let mut shown = self.events(elsewhere).await;
        let shown = shown.pop().expect("the event is shown");
        AuditEvent {
            id: event.id,
            organization_id: event.organization_id,
            ..shown
        }
    }

    /// Asserts that one event was recorded: this one, but for the identifier that the store gave it.
    pub(super) async fn assert_recorded(&self, recorded: Vec<AuditEvent>, expected: AuditEvent) {
        let id = recorded.first().map_or(expected.id, |event| event.id);
        assert_eq!(recorded, [self.as_shown(AuditEvent { id, ..expected }).await]);
    }

    /// Each of them as the log shows it.
    pub(super) async fn all_as_shown(&self, events: Vec<AuditEvent>) -> Vec<AuditEvent> {
        let mut shown = Vec::new();
        for event in events {
            shown.push(self.as_shown(event).await);
        }
        shown
    }

    /// The events of the organization with this action and subject.
    pub(super) async fn events_about(
        &self,
        organization: Option<OrganizationId>,
        action: Action,
        subject: Subject,
    ) -> Vec<AuditEvent> {
        let mut events = self.events(organization).await;
        events.retain(|event| event.action == action && event.subject == subject);
        events
    }

    /// The number of events with this action on keys of the member.
    pub(super) async fn count_of(&self, member: &Member, action: Action, key: &ApiKey) -> usize {
        self.events_about(Some(member.organization.id), action, Subject::ApiKey(key.id))
            .await
            .len()
    }
}
