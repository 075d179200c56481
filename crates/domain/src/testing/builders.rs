//! Valid test data, each object different from the others.

use std::sync::Arc;

use crate::api_key::{ApiKey, KeyDraft, KeyName};
use crate::audit::{Act, Actor, RequestSource};
use crate::clock::Clock;
use crate::holder::Holder;
use crate::id::IdGenerator;
use crate::membership::{Member, Membership, Role};
use crate::organization::{Organization, OrganizationName};
use crate::ports::NewApiKey;
use crate::random::Random;
use crate::sources::Sources;
use crate::testing::{FixedClock, SeededRandom};
use crate::token::Token;
use crate::user::{DisplayName, User, Username};

/// Makes organizations, members and keys that no store knows yet.
#[derive(Clone)]
pub struct Builder {
    /// The moment at which everything is made.
    pub clock: Arc<FixedClock>,
    /// The source of tokens.
    pub random: Arc<SeededRandom>,
    /// The source of identifiers.
    pub ids: Arc<IdGenerator>,
    /// All three, as arguments of use cases.
    pub sources: Sources,
}

impl Builder {
    /// A builder whose objects depend only on the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let clock = Arc::new(FixedClock::default());
        let random = Arc::new(SeededRandom::new(seed));
        let sources = Sources::new(
            Arc::clone(&clock) as Arc<dyn Clock>,
            Arc::clone(&random) as Arc<dyn Random>,
        );
        Self {
            clock,
            random,
            ids: Arc::clone(&sources.ids),
            sources,
        }
    }

    /// An organization with the slug that its name gives.
    #[must_use]
    pub fn organization(&self, name: &str) -> Organization {
        let name = OrganizationName::parse(name).expect("an organization name");
        Organization::new(self.ids.next(), name, self.clock.now())
    }

    /// A user whose display name is their username.
    #[must_use]
    pub fn user(&self, username: &str) -> User {
        User {
            id: self.ids.next(),
            username: Username::parse(username).expect("a username"),
            display_name: DisplayName::parse(username).expect("a display name"),
            created_at: self.clock.now(),
        }
    }

    /// A live membership.
    #[must_use]
    pub fn membership(&self, organization: &Organization, user: &User, role: Role) -> Membership {
        Membership::begin(self.ids.next(), organization.id, user.id, role, self.clock.now())
    }

    /// A new user who is a member.
    #[must_use]
    pub fn member(&self, organization: &Organization, username: &str) -> Member {
        let user = self.user(username);
        let membership = self.membership(organization, &user, Role::Member);
        Member {
            user,
            organization: organization.clone(),
            membership,
        }
    }

    /// A valid key of the holder that may manage keys, to be added to a store, and its token.
    #[must_use]
    pub fn new_key(&self, holder: &Holder, name: &str) -> (NewApiKey, Token) {
        let token = Token::generate(&*self.random);
        let key = ApiKey::new(
            self.ids.next(),
            holder.consumer().id,
            holder.acts_through(),
            KeyDraft::named(KeyName::parse(name).expect("a key name")),
            token.hint(),
            self.clock.now(),
        );
        (
            NewApiKey {
                key,
                organization_decides: false,
                digest: token.digest(),
                idempotency_key: None,
            },
            token,
        )
    }

    /// The holder acts, now, from nowhere in particular.
    #[must_use]
    pub fn act_of(&self, holder: &Holder) -> Act {
        self.act(holder.as_actor()).within(holder.organization_id())
    }

    /// An act in no organization.
    #[must_use]
    pub fn act(&self, actor: Actor) -> Act {
        Act::new(&self.ids, self.clock.now(), actor, RequestSource::default())
    }
}
