//! An organization in which everything can happen next that can happen in one, made by the use cases
//! themselves.

use std::error::Error;
use std::sync::{Arc, Mutex};

use keyward_domain::access::Authenticate;
use keyward_domain::administration::{
    AuditTrail, Authority, InvitationDraft, Invitations, IssuedInvitation, Members, OrganizationKeys,
    Organizations, Projects,
};
use keyward_domain::api_key::{KeyName, KeyPrecondition, Origin};
use keyward_domain::audit::RequestSource;
use keyward_domain::holder::Holder;
use keyward_domain::id::ApiKeyId;
use keyward_domain::invitation::Invitee;
use keyward_domain::keys::{IssuedKey, KeyDraft, PersonalKeys};
use keyward_domain::membership::{Member, Role};
use keyward_domain::organization::{Organization, OrganizationName};
use keyward_domain::ports::{ApiKeys, DescendantKeys, KeyLimits, StorageError};
use keyward_domain::project::{Project, ProjectName};
use keyward_domain::sign_in::accounts::AccountDraft;
use keyward_domain::sign_in::joining::JoiningPorts;
use keyward_domain::sign_in::own_account::OwnAccountPorts;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::refusals::{RefusalQueue, RefusalWriter, RefusedAttempt};
use keyward_domain::sign_in::seen_sessions::SeenSessions;
use keyward_domain::sign_in::session::{SessionToken, SignedIn};
use keyward_domain::sign_in::signing_in::{SignInAttempt, SignInPorts};
use keyward_domain::sign_in::{Accounts, Joining, OwnAccount, SignIn};
use keyward_domain::testing::{Builder, PlainHasher};
use keyward_domain::token::TokenDigest;
use keyward_domain::user::{User, Username};

use crate::both::first_run::{PASSWORD, choices, newcomer, setup};
use crate::database::{Database, now};

/// How an attempt to change something ends.
pub(crate) type Attempt = Result<(), Box<dyn Error + Send + Sync>>;

/// The use cases over one database.
pub(crate) struct UseCases {
    pub(crate) accounts: Accounts,
    pub(crate) sign_in: SignIn,
    pub(crate) own_account: OwnAccount,
    pub(crate) joining: Joining,
    refusals: Arc<QueuedRefusals>,
    refusal_writer: RefusalWriter,
    pub(crate) members: Members,
    pub(crate) invitations: Invitations,
    pub(crate) projects: Projects,
    pub(crate) organizations: Organizations,
    pub(crate) keys: PersonalKeys,
    pub(crate) organization_keys: OrganizationKeys,
    pub(crate) audit_trail: AuditTrail,
}

/// Refusals that are not written yet.
#[derive(Default)]
struct QueuedRefusals(Mutex<Vec<RefusedAttempt>>);

impl RefusalQueue for QueuedRefusals {
    fn push(&self, refusal: RefusedAttempt) {
        self.0.lock().expect("no panic").push(refusal);
    }
}

impl UseCases {
    /// Writes what was refused into the logs.
    pub(crate) async fn write_refusals(&self) -> Result<(), StorageError> {
        let refusals = std::mem::take(&mut *self.refusals.0.lock().expect("no panic"));
        for refusal in refusals {
            self.refusal_writer.write(refusal).await?;
        }
        Ok(())
    }

    fn new(database: &Database, make: &Builder) -> Self {
        let store = || Arc::clone(&database.store);
        let sources = || make.sources.clone();
        let hasher = || Arc::new(PlainHasher) as _;
        let refusals = Arc::new(QueuedRefusals::default());
        let sign_in = SignInPorts {
            accounts: store(),
            sessions: store(),
            installation: store(),
            throttle: store(),
            refusals: Arc::clone(&refusals) as _,
            memberships: store(),
            hasher: hasher(),
            seen: Arc::new(SeenSessions::new(100)),
        };
        let own_account = OwnAccountPorts {
            accounts: store(),
            sessions: store(),
            installation: store(),
            throttle: store(),
            audit_log: store(),
            refusals: Arc::clone(&refusals) as _,
            hasher: hasher(),
        };
        let joining = JoiningPorts {
            invitations: store(),
            accounts: store(),
            throttle: store(),
            hasher: hasher(),
        };
        Self {
            accounts: Accounts::new(store(), store(), hasher(), sources()),
            sign_in: SignIn::new(sign_in, sources()),
            refusals,
            refusal_writer: RefusalWriter::new(store(), store()),
            own_account: OwnAccount::new(own_account, sources()),
            joining: Joining::new(joining, sources()),
            members: Members::new(store(), store(), sources()),
            invitations: Invitations::new(store(), store(), sources()),
            projects: Projects::new(store(), store(), sources()),
            organizations: Organizations::new(store(), store(), sources()),
            keys: PersonalKeys::new(store(), sources(), KeyLimits::default()),
            organization_keys: OrganizationKeys::new(store(), sources()),
            audit_trail: AuditTrail::new(store(), store(), store(), sources()),
        }
    }
}

/// Ada and Carol are owners, Bob is a member and in one of the projects, and Dave is in another organization,
/// of Ada's, where new keys may not manage keys. Bob has a key and a key made with it; Ada is signed in
/// twice, and both owners have an open invitation.
pub(crate) struct Scene {
    pub(crate) database: Database,
    pub(crate) make: Builder,
    pub(crate) use_cases: UseCases,
    pub(crate) ada: Member,
    pub(crate) here: SignedIn,
    pub(crate) there: SignedIn,
    pub(crate) there_token: String,
    pub(crate) bob: Member,
    pub(crate) carol: Member,
    pub(crate) dave: User,
    pub(crate) elsewhere: Organization,
    pub(crate) key: ApiKeyId,
    pub(crate) key_digest: TokenDigest,
    pub(crate) child: ApiKeyId,
    pub(crate) project: Project,
    pub(crate) archived: Project,
    pub(crate) invitation: IssuedInvitation,
}

impl Scene {
    pub(crate) async fn new(database: Database) -> Self {
        let make = Builder::new(1);
        let use_cases = UseCases::new(&database, &make);
        let organization = setup(&database, &make).bootstrap(choices()).await;
        let organization = organization.expect("an organization");
        let ada = member(&database, "ada", &organization).await;
        let authority = ada.as_authority(ada.membership.joined_at).expect("an owner");
        for (username, role) in [("bob", Role::Member), ("carol", Role::Owner)] {
            add_user(&use_cases, &organization, username, role).await;
        }
        let elsewhere = OrganizationName::parse("Elsewhere").expect("a name");
        let elsewhere = use_cases
            .accounts
            .create_organization(elsewhere, &ada.user.username)
            .await;
        let elsewhere = elsewhere.expect("another organization");
        let ada_elsewhere = member(&database, "ada", &elsewhere).await;
        let of_elsewhere = ada_elsewhere.as_authority(ada_elsewhere.membership.joined_at);
        let chosen = use_cases
            .organizations
            .set_default_for_new_keys(&of_elsewhere.expect("its owner"), false, RequestSource::default())
            .await;
        chosen.expect("new keys that may not manage keys");
        let dave = add_user(&use_cases, &elsewhere, "dave", Role::Member).await;
        let bob = member(&database, "bob", &organization).await;
        let key = issue(&use_cases, &bob.as_holder(), "deploy").await;
        let authenticate =
            Authenticate::new(Arc::clone(&database.store) as _, Arc::new(make.sources.clone()));
        let caller = authenticate.caller(key.token.expose(), None).await;
        let through_key = caller.expect("an accepted key").as_holder();
        let child = issue(&use_cases, &through_key, "nightly").await;
        let project = add_project(&use_cases, &authority, "Notes").await;
        let archived = add_project(&use_cases, &authority, "Attic").await;
        let source = RequestSource::default;
        let done = use_cases
            .projects
            .archive(&authority, archived.id, source())
            .await;
        done.expect("an archived project");
        let (projects, bobs) = (&use_cases.projects, bob.membership.id);
        let added = projects.add_member(&authority, project.id, bobs, source()).await;
        added.expect("a member of the project");
        let invitation = use_cases
            .invitations
            .invite(&authority, draft(), None, source())
            .await;
        let carol = member(&database, "carol", &organization).await;
        let hers = carol.as_authority(carol.membership.joined_at).expect("an owner");
        let invited = use_cases.invitations.invite(&hers, draft(), None, source()).await;
        invited.expect("an invitation of Carol's");
        let (_, here) = sign_in(&use_cases).await;
        let (token, there) = sign_in(&use_cases).await;
        Self {
            carol,
            here,
            there,
            there_token: token.expose().to_owned(),
            invitation: invitation.expect("an invitation"),
            database,
            make,
            use_cases,
            ada,
            bob,
            dave,
            elsewhere,
            key: key.key.id,
            key_digest: key.token.digest(),
            child: child.key.id,
            project,
            archived,
        }
    }

    /// A new key that another key of Bob's creates.
    pub(crate) async fn issue_with(&self, parent: ApiKeyId) -> ApiKeyId {
        let (mut new, _) = self.make.new_key(&self.bob.as_holder(), "grandchild");
        new.key.origin = Origin::Key(parent);
        let id = new.key.id;
        let act = self.make.act_of(&self.bob.as_holder());
        let added = ApiKeys::add(&*self.database.store, new, KeyLimits::default(), act).await;
        added.expect("a key");
        id
    }

    /// Bob revokes a key of his with all that came from it. Returns the keys that were valid.
    pub(crate) async fn revoke_all(&self, key: ApiKeyId) -> Vec<ApiKeyId> {
        let (holder, source) = (self.bob.as_holder(), RequestSource::default());
        let keys = &self.use_cases.keys;
        let revoked = keys
            .revoke(
                &holder,
                key,
                DescendantKeys::Revoke,
                KeyPrecondition::AnyVersion,
                source,
            )
            .await;
        revoked.expect("revoked keys")
    }

    pub(crate) fn authority(&self) -> Authority {
        self.ada
            .as_authority(self.ada.membership.joined_at)
            .expect("an owner")
    }
}

/// An invitation for Grace.
pub(crate) fn draft() -> InvitationDraft {
    InvitationDraft {
        invitee: Invitee::parse("Grace").expect("an invitee"),
        role: Role::Member,
    }
}

/// A sign-in attempt with a password.
pub(crate) fn attempt<'a>(username: &'a str, password: &str) -> SignInAttempt<'a> {
    SignInAttempt {
        username,
        password: Password::attempt(password),
        user_agent: None,
        previous: None,
        browser: None,
        source: RequestSource::default(),
    }
}

/// An administrator's input for a new user.
pub(crate) fn new_user(organization: &Organization, username: &str, role: Role) -> AccountDraft {
    AccountDraft {
        organization: organization.slug.clone(),
        role,
        user: newcomer(username, username),
    }
}

async fn add_user(use_cases: &UseCases, organization: &Organization, username: &str, role: Role) -> User {
    let added = use_cases
        .accounts
        .create(new_user(organization, username, role))
        .await;
    added.expect("a user")
}

pub(crate) async fn member(database: &Database, username: &str, organization: &Organization) -> Member {
    let username = Username::parse(username).expect("a username");
    let account = keyward_domain::sign_in::ports::AccountStore::find(&*database.store, &username).await;
    let user = account.expect("an answer").expect("a user").user;
    let found = database.store.find_live(user.id, &organization.slug, now()).await;
    found.expect("an answer").expect("a member")
}

async fn sign_in(use_cases: &UseCases) -> (SessionToken, SignedIn) {
    let token = use_cases
        .sign_in
        .sign_in(attempt("ada", PASSWORD))
        .await
        .expect("a session")
        .session;
    let found = use_cases.sign_in.signed_in(&token).await;
    (token, found.expect("an answer").expect("a live session"))
}

pub(crate) async fn issue(use_cases: &UseCases, holder: &Holder, name: &str) -> IssuedKey {
    let source = RequestSource::default();
    let issued = use_cases.keys.issue(holder, key_draft(name), None, source).await;
    issued.expect("a key")
}

pub(crate) async fn add_project(use_cases: &UseCases, authority: &Authority, name: &str) -> Project {
    let name = ProjectName::parse(name).expect("a name");
    let added = use_cases
        .projects
        .create(authority, name, None, RequestSource::default())
        .await;
    added.expect("a project")
}

/// A holder's input for a new key.
pub(crate) fn key_draft(name: &str) -> KeyDraft {
    KeyDraft::named(KeyName::parse(name).expect("a name"))
}
