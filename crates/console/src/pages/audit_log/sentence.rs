//! An event as a sentence that people read.

use chrono::{DateTime, Utc};
use keyward_domain::administration::AuditPage;
use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, Subject};
use keyward_domain::token::TokenHint;

/// An event as a sentence: actor, verb, subject and object.
pub(super) struct Sentence {
    pub(super) actor: Participant,
    /// What they did, up to what they did it to.
    pub(super) verb: &'static str,
    pub(super) subject: Option<Participant>,
    /// What goes on after that, up to what else was involved.
    pub(super) rest: &'static str,
    pub(super) object: Option<Participant>,
    /// What was replaced by what, each behind its preposition.
    pub(super) values: Vec<(&'static str, Value)>,
}

/// A value in a sentence.
pub(super) enum Value {
    Moment(DateTime<Utc>),
    Text(String),
}

/// An actor, subject or object in a sentence.
pub(super) struct Participant {
    /// The noun before the label in the sentence; empty if the verb implies it.
    pub(super) kind: &'static str,
    /// The noun in the event's menu; empty for people with a name.
    pub(super) menu_label: &'static str,
    /// What it is called; or which one it was, if it has no name any more.
    pub(super) label: Label,
    /// Its own page.
    pub(super) page: Option<String>,
    /// All that it did, or was in.
    pub(super) events: Option<String>,
}

pub(super) enum Label {
    Name(String),
    /// A user whose display name differs from the (unique) username.
    Person {
        name: String,
        username: String,
    },
    /// Keys may have one name: a rotated key has its successor's.
    Key {
        name: String,
        hint: TokenHint,
    },
    Id(String),
    None,
}

impl Sentence {
    pub(super) fn new(
        event: &AuditEvent,
        known: &AuditPage,
        actor: Participant,
        participant: impl Fn(Subject) -> Participant,
    ) -> Self {
        let phrase = Phrase::of(event, known);
        Self {
            actor,
            verb: phrase.verb,
            subject: phrase.names_subject.then(|| participant(event.subject)),
            rest: phrase.rest,
            object: event.object.filter(|_| phrase.names_object).map(participant),
            values: Value::of(event),
        }
    }
}

impl Value {
    fn of(event: &AuditEvent) -> Vec<(&'static str, Self)> {
        let [old, new] = [&event.old_value, &event.new_value].map(|value| value.as_deref().map(Self::read));
        match (event.action, old, new) {
            (_, None, None) => Vec::new(),
            (Action::ExpireApiKey | Action::ExpireMembership, Some(planned), _) => {
                vec![("planned for", planned)]
            }
            (Action::CreateApiKey, None, Some(end)) => vec![("which expires", end)],
            (Action::CreateRestrictedApiKey, None, Some(end)) => vec![("and expires", end)],
            (_, old, new) => {
                let new = new.unwrap_or_else(|| Self::Text("none".to_owned()));
                let old = old.map(|old| ("from", old));
                old.into_iter().chain([("to", new)]).collect()
            }
        }
    }

    fn read(text: &str) -> Self {
        if let Ok(at) = DateTime::parse_from_rfc3339(text) {
            return Self::Moment(at.to_utc());
        }
        let days = text.strip_prefix('P').and_then(|rest| rest.strip_suffix('D'));
        match days.and_then(|days| days.parse::<u32>().ok()) {
            Some(1) => Self::Text("1 day".to_owned()),
            Some(days) => Self::Text(format!("{days} days")),
            None => Self::Text(text.to_owned()),
        }
    }
}

impl Participant {
    pub(super) fn actor(actor: Actor, known: Option<&AuditPage>) -> Self {
        let (kind, menu_label) = match actor {
            Actor::User(_) => ("", ""),
            Actor::ApiKey(_) => ("The API key", "API key"),
            Actor::Administrator => ("An administrator on the server", "administrators on the server"),
            Actor::System => ("Keyward", "Keyward"),
            Actor::Anonymous => ("Someone not signed in", "people not signed in"),
        };
        let label = actor
            .as_subject()
            .map_or(Label::None, |subject| Label::of(subject, known));
        Self::called(kind, menu_label, label)
    }

    pub(super) fn subject(subject: Subject, known: Option<&AuditPage>) -> Self {
        const NEWER: &str = "something from a newer version of Keyward";
        let is_named = known.is_some_and(|known| known.names.contains_key(&subject));
        let (kind, menu_label) = match subject {
            Subject::Installation => ("this installation", "this installation"),
            Subject::Session(_) => ("session", "session"),
            Subject::Other { .. } => (NEWER, NEWER),
            Subject::Organization(_) => ("", "organization"),
            Subject::User(_) | Subject::Membership(_) if is_named => ("", ""),
            Subject::User(_) => ("user", "user"),
            Subject::Membership(_) => ("member", "member"),
            Subject::Invitation(_) if is_named => ("", "invitation"),
            Subject::Invitation(_) => ("invitation", "invitation"),
            Subject::Project(_) => ("", "project"),
            Subject::ApiKey(_) => ("", "API key"),
        };
        Self::called(kind, menu_label, Label::of(subject, known))
    }

    fn called(kind: &'static str, menu_label: &'static str, label: Label) -> Self {
        Self {
            kind,
            menu_label,
            label,
            page: None,
            events: None,
        }
    }

    /// The same, leading to its own page and to its events.
    pub(super) fn leading_to(self, page: Option<String>, events: String) -> Self {
        Self {
            page,
            events: Some(events),
            ..self
        }
    }
}

impl Label {
    pub(super) const fn is_some(&self) -> bool {
        match self {
            Self::Name(_) | Self::Person { .. } | Self::Key { .. } | Self::Id(_) => true,
            Self::None => false,
        }
    }

    fn of(subject: Subject, known: Option<&AuditPage>) -> Self {
        let name = known.and_then(|known| known.names.get(&subject));
        let username = known.and_then(|known| known.usernames.get(&subject));
        let hint = known.and_then(|known| known.hints.get(&subject));
        if let (Some(name), Some(hint)) = (name, hint) {
            let (name, hint) = (name.clone(), hint.clone());
            return Self::Key { name, hint };
        }
        match (name, username, subject.id()) {
            (Some(name), Some(username), _) if name != username.as_str() => Self::Person {
                name: name.clone(),
                username: username.to_string(),
            },
            (Some(name), _, _) => Self::Name(name.clone()),
            (None, _, Some(id)) => Self::Id(id.to_string()),
            (None, _, None) => Self::None,
        }
    }
}

/// The words for an action, around those who are in it.
struct Phrase {
    verb: &'static str,
    names_subject: bool,
    rest: &'static str,
    names_object: bool,
}

impl Phrase {
    /// The sentence ends before the subject, which is the actor.
    const fn alone(verb: &'static str) -> Self {
        Self {
            verb,
            names_subject: false,
            rest: "",
            names_object: false,
        }
    }

    const fn about(verb: &'static str) -> Self {
        Self {
            names_subject: true,
            ..Self::alone(verb)
        }
    }

    const fn about_and(verb: &'static str, rest: &'static str) -> Self {
        Self {
            rest,
            ..Self::about(verb)
        }
    }

    const fn between(verb: &'static str, rest: &'static str) -> Self {
        Self {
            names_object: true,
            ..Self::about_and(verb, rest)
        }
    }

    /// Whoever does something to themselves is named once.
    fn of(event: &AuditEvent, known: &AuditPage) -> Self {
        let username = |subject| known.usernames.get(&subject);
        let actor = event.actor.as_subject().and_then(username);
        let is_actor = |subject| actor.is_some() && username(subject) == actor;
        match event.action {
            // Only the setup link lets a person do that.
            Action::CreateOrganization if matches!(event.actor, Actor::User(_)) => {
                Self::alone("set up the organization with the setup link")
            }
            Action::CreateUser if is_actor(event.subject) => Self::alone("created their account"),
            Action::CreateMembership if is_actor(event.subject) => Self::alone("joined the organization"),
            Action::AcceptInvitation if event.object.is_some_and(is_actor) => {
                Self::alone("accepted their invitation")
            }
            Action::SignIn if event.outcome == Outcome::Refused => Self::about("tried to sign in as"),
            Action::ChangePassword if event.outcome == Outcome::Refused => {
                Self::alone("failed to change their password: wrong current password")
            }
            Action::LimitAttempts if is_actor(event.subject) => {
                Self::alone("entered a wrong current password too often")
            }
            // Nobody else revokes a key without saying who they are.
            Action::RevokeApiKey if event.actor == Actor::Anonymous => {
                Self::about_and("reported the API key", "as leaked, and it was revoked")
            }
            Action::UseApiKey if event.object.is_none() => {
                Self::alone("tried to use other inactive API keys")
            }
            // Somebody else's, by signing in where they were signed in.
            Action::SignOut if event.object.is_some() => Self::between("ended the", "of"),
            Action::Other(_) if event.object.is_some() => Self::between("did", "with"),
            action => Self::usual(action),
        }
    }

    const fn usual(action: Action) -> Self {
        match action {
            Action::CreateSetupLink => Self::alone("created a setup link"),
            Action::CreateOrganization => Self::about("created the organization"),
            Action::EnableKeyManagement => Self::alone("let new API keys manage other keys by default"),
            Action::DisableKeyManagement => {
                Self::alone("stopped letting new API keys manage other keys by default")
            }
            Action::LimitKeyLife => Self::alone("changed the maximum lifetime of new API keys"),
            Action::CreateUser => Self::about("created the account of"),
            Action::CreateMembership => Self::about("added"),
            Action::MakeOwner => Self::about_and("changed the role of", "to owner"),
            Action::MakeMember => Self::about_and("changed the role of", "to member"),
            Action::RemoveMember => Self::about_and("removed", "from the organization"),
            Action::LeaveOrganization => Self::alone("left the organization"),
            Action::ChangeMembershipExpiry => Self::about("changed the expiration of the membership of"),
            Action::ExpireMembership => Self::about("recorded the planned end of the membership of"),
            Action::CreateInvitation => Self::about("invited"),
            Action::RevokeInvitation => Self::about("revoked the invitation for"),
            Action::AcceptInvitation => Self::about("accepted the invitation for"),
            Action::CreateProject => Self::about("created the project"),
            Action::RenameProject => Self::about("renamed the project"),
            Action::ArchiveProject => Self::about("archived the project"),
            Action::RestoreProject => Self::about("restored the project"),
            Action::AddProjectMember => Self::between("added", "to the project"),
            Action::RemoveProjectMember => Self::between("removed", "from the project"),
            Action::ResetPassword => Self::about("reset the password of"),
            Action::ChangePassword => Self::alone("changed their password"),
            Action::SignIn => Self::alone("signed in"),
            Action::LimitAttempts => Self::about("made too many sign-in attempts as"),
            Action::SignOut => Self::alone("signed out"),
            Action::EndSession => Self::about("ended the"),
            Action::CreateApiKey => Self::about("created the API key"),
            Action::CreateRestrictedApiKey => {
                Self::about_and("created the API key", "which cannot manage keys")
            }
            Action::EditApiKey => Self::about("edited the API key"),
            Action::ChangeExpiry => Self::about("changed the expiration of the API key"),
            Action::RotateApiKey => Self::between("rotated the API key", "to"),
            Action::RevokeApiKey => Self::about("revoked the API key"),
            Action::ExpireApiKey => Self::about("recorded the expiration of the API key"),
            Action::UseApiKey => Self::between("tried to use the inactive API key", "of"),
            Action::RemoveAuditEvents => Self::alone("removed old audit events"),
            Action::ExportAuditLog => Self::alone("exported the audit log"),
            // The word follows.
            Action::Other(_) => Self::about("did"),
        }
    }
}

/// What an action is called where one is chosen, in the order of the list; none for what happens in no organization.
pub(super) const fn action_label(action: Action) -> Option<&'static str> {
    match action {
        Action::CreateOrganization => Some("Organization created"),
        Action::EnableKeyManagement => Some("New keys can manage keys"),
        Action::DisableKeyManagement => Some("New keys cannot manage keys"),
        Action::LimitKeyLife => Some("Maximum lifetime of new keys changed"),
        Action::CreateUser => Some("Account created"),
        Action::CreateMembership => Some("Member added"),
        Action::MakeOwner => Some("Role changed to owner"),
        Action::MakeMember => Some("Role changed to member"),
        Action::RemoveMember => Some("Member removed"),
        Action::LeaveOrganization => Some("Member left"),
        Action::ChangeMembershipExpiry => Some("Membership expiration changed"),
        Action::ExpireMembership => Some("Membership expired"),
        Action::CreateInvitation => Some("Invitation created"),
        Action::RevokeInvitation => Some("Invitation revoked"),
        Action::AcceptInvitation => Some("Invitation accepted"),
        Action::CreateProject => Some("Project created"),
        Action::RenameProject => Some("Project renamed"),
        Action::ArchiveProject => Some("Project archived"),
        Action::RestoreProject => Some("Project restored"),
        Action::AddProjectMember => Some("Member added to project"),
        Action::RemoveProjectMember => Some("Member removed from project"),
        Action::CreateApiKey => Some("API key created"),
        Action::CreateRestrictedApiKey => Some("API key created, cannot manage keys"),
        Action::EditApiKey => Some("API key edited"),
        Action::ChangeExpiry => Some("API key expiration changed"),
        Action::RotateApiKey => Some("API key rotated"),
        Action::RevokeApiKey => Some("API key revoked"),
        Action::ExpireApiKey => Some("API key expired"),
        Action::UseApiKey => Some("Inactive API key used"),
        Action::SignIn => Some("Signed in"),
        Action::ChangePassword => Some("Wrong current password"),
        Action::LimitAttempts => Some("Too many sign-in attempts"),
        Action::ExportAuditLog => Some("Audit log exported"),
        Action::CreateSetupLink
        | Action::ResetPassword
        | Action::SignOut
        | Action::EndSession
        | Action::RemoveAuditEvents
        | Action::Other(_) => None,
    }
}
