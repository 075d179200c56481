//! How the made-up data gets into the database: by the use cases, one after the other, each at its moment.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use keyward_domain::access::AuthenticateError;
use keyward_domain::administration::ports::{
    AddInvitationError, AddProjectError, ChangeProjectError, ChangeProjectMembersError, EndMembershipError,
};
use keyward_domain::administration::{Authority, InvitationDraft};
use keyward_domain::api_key::{KeyDescription, KeyName};
use keyward_domain::audit::RequestSource;
use keyward_domain::holder::Holder;
use keyward_domain::id::ProjectId;
use keyward_domain::invitation::{InvitationToken, Invitee};
use keyward_domain::keys::{IssueKeyError, IssuedKey, KeyDraft, RevokeKeyError};
use keyward_domain::membership::{Member, Role};
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::ports::{DescendantKeys, KeyLimit, Memberships, StorageError};
use keyward_domain::project::ProjectName;
use keyward_domain::sign_in::joining::{JoinError, NewcomerChoices};
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::ports::AccountStore;
use keyward_domain::sign_in::setup::{CompleteSetupError, SetupChoices};
use keyward_domain::text::TextError;
use keyward_domain::token::Token;
use keyward_domain::user::{DisplayName, InvalidUsername, Username};

use super::data::{By, FOUNDED, HISTORY, Happening, Key, Moment, ORGANIZATION, OWNER, Person, TERMINAL};
use super::one_hash::OneHash;
use super::organization::ORGANIZATION_HISTORY;
use super::past_clock::PastClock;
use crate::composition::{Composition, Sources};
use crate::password_hasher::Argon2idHasher;
use crate::store::Store;

/// How to get in.
pub(super) struct Access {
    /// Everybody's.
    pub(super) password: Password,
    /// Of a key of the owner.
    pub(super) token: Token,
}

/// Why the data is not there. But for the first three, a test of [`super::data`] would have failed before.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FillError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Setup(#[from] CompleteSetupError),
    #[error(transparent)]
    Invite(#[from] AddInvitationError),
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error(transparent)]
    Remove(#[from] EndMembershipError),
    #[error(transparent)]
    CreateProject(#[from] AddProjectError),
    #[error(transparent)]
    ChangeProject(#[from] ChangeProjectError),
    #[error(transparent)]
    ChangeProjectMembers(#[from] ChangeProjectMembersError),
    #[error(transparent)]
    Issue(#[from] IssueKeyError),
    #[error(transparent)]
    Revoke(#[from] RevokeKeyError),
    #[error(transparent)]
    Authenticate(#[from] AuthenticateError),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Username(#[from] InvalidUsername),
    #[error("nobody made {0} before")]
    Missing(&'static str),
}

/// Fills an empty database with the data of [`super::data`], which ends now.
pub(super) async fn fill(sources: &Sources, store: Arc<dyn Store>) -> Result<Access, FillError> {
    let now = sources.now();
    let clock = Arc::new(PastClock::new(FOUNDED.before(now)));
    // Identifiers sort by time, so they have to be of the past, too.
    let past = Sources::new(clock.clone(), sources.random.clone());
    let hasher = OneHash::new(Argon2idHasher::new(sources.random.clone()));
    let use_cases = Composition::with_hasher(past, Arc::new(hasher), store.clone());
    let password = Password::generate(&*sources.random);

    let founding = SetupChoices {
        organization: OrganizationName::parse(ORGANIZATION)?,
        username: Username::parse(OWNER.username)?,
        display_name: DisplayName::parse(OWNER.display_name)?,
        password: Password::attempt(password.expose()),
    };
    let organization = use_cases.setup().bootstrap(founding).await?.slug;
    let mut filling = Filling {
        use_cases,
        store,
        organization,
        password,
        keys: HashMap::new(),
        projects: HashMap::new(),
    };
    let mut history: Vec<_> = HISTORY.iter().chain(ORGANIZATION_HISTORY).collect();
    history.sort_by_key(|(moment, _)| moment.before(now));
    for (moment, happening) in history {
        clock.move_to(moment.before(now));
        filling.play(happening).await?;
    }
    clock.move_to(now);
    let token = filling.issue(&By::Person(OWNER.username), &TERMINAL).await?.token;
    Ok(Access {
        password: filling.password,
        token,
    })
}

impl Moment {
    /// The moment so many days before the day of `now`, in whole minutes of UTC.
    fn before(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let today = now.duration_trunc(TimeDelta::days(1)).unwrap_or(now);
        today - TimeDelta::days(self.days_ago) + TimeDelta::hours(self.hour) + TimeDelta::minutes(self.minute)
    }
}

/// Nobody was at a browser.
fn source() -> RequestSource {
    RequestSource::default()
}

struct Filling {
    use_cases: Composition,
    store: Arc<dyn Store>,
    organization: Slug,
    password: Password,
    keys: HashMap<&'static str, IssuedKey>,
    projects: HashMap<&'static str, ProjectId>,
}

impl Filling {
    async fn play(&mut self, happening: &Happening) -> Result<(), FillError> {
        match happening {
            Happening::Joins(person) => self.admit(person).await,
            Happening::Creates(by, key) => {
                let issued = self.issue(by, key).await?;
                self.keys.insert(key.name, issued);
                Ok(())
            }
            Happening::Revokes(by, name) => self.revoke(by, name, DescendantKeys::Keep).await,
            Happening::RevokesWithDescendants(by, name) => {
                self.revoke(by, name, DescendantKeys::Revoke).await
            }
            Happening::Removes(username) => {
                let (authority, member) = (self.authority().await?, self.member(username).await?);
                let members = self.use_cases.members();
                members.remove(&authority, member.membership.id, source()).await?;
                Ok(())
            }
            Happening::Invites(invitee) => self.invite(invitee).await.map(drop),
            Happening::Starts(name, members) => {
                let authority = self.authority().await?;
                let project = self.use_cases.projects();
                let project = project
                    .create(&authority, ProjectName::parse(name)?, source())
                    .await?;
                self.projects.insert(name, project.id);
                for username in *members {
                    self.enter(name, username).await?;
                }
                Ok(())
            }
            Happening::Enters(name, username) => self.enter(name, username).await,
            Happening::LeavesProject(name, username) => {
                let (authority, member) = (self.authority().await?, self.member(username).await?);
                let (projects, project) = (self.use_cases.projects(), self.project(name)?);
                let member = member.membership.id;
                projects
                    .remove_member(&authority, project, member, source())
                    .await?;
                Ok(())
            }
            Happening::Archives(name) => {
                let (authority, project) = (self.authority().await?, self.project(name)?);
                let projects = self.use_cases.projects();
                projects.archive(&authority, project, source()).await?;
                Ok(())
            }
        }
    }

    async fn admit(&self, person: &Person) -> Result<(), FillError> {
        let invited = self.invite(person.display_name).await?;
        let choices = NewcomerChoices {
            username: Username::parse(person.username)?,
            display_name: DisplayName::parse(person.display_name)?,
            password: Password::attempt(self.password.expose()),
        };
        let joining = self.use_cases.joining();
        joining.join_as_newcomer(&invited, choices, source()).await?;
        Ok(())
    }

    /// The secret of a new invitation's link.
    async fn invite(&self, invitee: &str) -> Result<InvitationToken, FillError> {
        let draft = InvitationDraft {
            invitee: Invitee::parse(invitee)?,
            role: Role::Member,
        };
        let authority = self.authority().await?;
        let invitations = self.use_cases.invitations();
        Ok(invitations.invite(&authority, draft, source()).await?.token)
    }

    async fn enter(&self, project: &'static str, username: &'static str) -> Result<(), FillError> {
        let (authority, member) = (self.authority().await?, self.member(username).await?);
        let (projects, project) = (self.use_cases.projects(), self.project(project)?);
        let member = member.membership.id;
        projects.add_member(&authority, project, member, source()).await?;
        Ok(())
    }

    fn project(&self, name: &'static str) -> Result<ProjectId, FillError> {
        self.projects.get(name).copied().ok_or(FillError::Missing(name))
    }

    /// The owner, who runs the organization.
    async fn authority(&self) -> Result<Authority, FillError> {
        let owner = self.member(OWNER.username).await?;
        owner.as_authority().ok_or(FillError::Missing(OWNER.username))
    }

    async fn member(&self, username: &'static str) -> Result<Member, FillError> {
        let missing = || FillError::Missing(username);
        let name = Username::parse(username)?;
        let account = AccountStore::find(&*self.store, &name)
            .await?
            .ok_or_else(missing)?;
        let member = Memberships::find_live(&*self.store, account.user.id, &self.organization).await?;
        member.ok_or_else(missing)
    }

    async fn issue(&self, by: &By, key: &Key) -> Result<IssuedKey, FillError> {
        let draft = KeyDraft {
            name: KeyName::parse(key.name)?,
            description: KeyDescription::parse(key.description)?,
        };
        let keys = self.use_cases.keys(KeyLimit::default());
        let holder = self.holder(by).await?;
        Ok(keys.issue(&holder, draft, None, source()).await?)
    }

    async fn revoke(
        &self,
        by: &By,
        name: &'static str,
        descendants: DescendantKeys,
    ) -> Result<(), FillError> {
        let key = self.keys.get(name).ok_or(FillError::Missing(name))?.key.id;
        let keys = self.use_cases.keys(KeyLimit::default());
        let holder = self.holder(by).await?;
        keys.revoke(&holder, key, descendants, source()).await?;
        Ok(())
    }

    /// Who acts: a person as the console knows them, or a key as the API does.
    async fn holder(&self, by: &By) -> Result<Holder, FillError> {
        match by {
            By::Person(username) => Ok(self.member(username).await?.as_holder()),
            By::Key(name) => {
                let key = self.keys.get(name).ok_or(FillError::Missing(name))?;
                let caller = self
                    .use_cases
                    .authenticate()
                    .caller(key.token.expose(), None)
                    .await?;
                Ok(caller.as_holder())
            }
        }
    }
}
