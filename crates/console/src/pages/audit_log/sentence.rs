//! An event as a sentence that people read.

use chrono::{DateTime, Utc};
use keyward_domain::administration::AuditPage;
use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, Subject};
use keyward_domain::token::TokenHint;

/// An event as a sentence: actor, verb, subject and object.
pub(super) struct Sentence {
    pub(super) actor: Participant,
    /// The words between actor and subject.
    pub(super) verb: &'static str,
    pub(super) subject: Option<Participant>,
    /// The words between subject and object.
    pub(super) rest: &'static str,
    pub(super) object: Option<Participant>,
    /// The old and the new value, each after its preposition.
    pub(super) values: Vec<(&'static str, Value)>,
}

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
    /// Its name; its identifier if it has no name any more.
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
    pub(super) fn actor(actor: Actor, known: &AuditPage) -> Self {
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

    pub(super) fn subject(subject: Subject, known: &AuditPage) -> Self {
        const NEWER: &str = "something from a newer version of Keyward";
        let is_named = known.names.contains_key(&subject);
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

    fn of(subject: Subject, known: &AuditPage) -> Self {
        let Some(named) = known.names.get(&subject) else {
            return subject.id().map_or(Self::None, |id| Self::Id(id.to_string()));
        };
        let name = named.name.clone();
        match (&named.hint, &named.username) {
            (Some(hint), _) => Self::Key {
                name,
                hint: hint.clone(),
            },
            (None, Some(username)) if name != username.as_str() => Self::Person {
                name,
                username: username.to_string(),
            },
            (None, _) => Self::Name(name),
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

    /// A user who is both actor and subject is named once.
    fn of(event: &AuditEvent, known: &AuditPage) -> Self {
        let username = |subject| known.names.get(&subject)?.username.as_ref();
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
            // Only reports of leaks are anonymous.
            Action::RevokeApiKey if event.actor == Actor::Anonymous => {
                Self::about_and("reported the API key", "as leaked, and it was revoked")
            }
            Action::UseApiKey if event.object.is_none() => {
                Self::alone("tried to use other inactive API keys")
            }
            // Another user's session, which ended when the actor signed in with the same browser.
            Action::SignOut if event.object.is_some() => Self::between("ended the", "of"),
            Action::Other(_) if event.object.is_some() => Self::between("did", "with"),
            action => Self::usual(action),
        }
    }
}

/// The phrase of each action and, after `as`, its label in the filter, which actions without an organization
/// do not have.
macro_rules! actions {
    ($($Action:ident: $phrase:ident($($words:literal),+) $(as $label:literal)?;)*) => {
        impl Phrase {
            const fn usual(action: Action) -> Self {
                match action {
                    $(Action::$Action => Self::$phrase($($words),+),)*
                    // The word follows.
                    Action::Other(_) => Self::about("did"),
                }
            }
        }

        pub(super) const fn action_label(action: Action) -> Option<&'static str> {
            match action {
                $($(Action::$Action => Some($label),)?)*
                _ => None,
            }
        }
    };
}

actions! {
    CreateSetupLink: alone("created a setup link");
    CreateOrganization: about("created the organization") as "Organization created";
    EnableKeyManagement: alone("let new API keys manage other keys by default")
        as "New keys can manage keys";
    DisableKeyManagement: alone("stopped letting new API keys manage other keys by default")
        as "New keys cannot manage keys";
    LimitKeyLife: alone("changed the maximum lifetime of new API keys")
        as "Maximum lifetime of new keys changed";
    CreateUser: about("created the account of") as "Account created";
    CreateMembership: about("added") as "Member added";
    MakeOwner: about_and("changed the role of", "to owner") as "Role changed to owner";
    MakeMember: about_and("changed the role of", "to member") as "Role changed to member";
    RemoveMember: about_and("removed", "from the organization") as "Member removed";
    LeaveOrganization: alone("left the organization") as "Member left";
    ChangeMembershipExpiry: about("changed the expiration of the membership of")
        as "Membership expiration changed";
    ExpireMembership: about("recorded the planned end of the membership of") as "Membership expired";
    CreateInvitation: about("invited") as "Invitation created";
    RevokeInvitation: about("revoked the invitation for") as "Invitation revoked";
    AcceptInvitation: about("accepted the invitation for") as "Invitation accepted";
    CreateProject: about("created the project") as "Project created";
    RenameProject: about("renamed the project") as "Project renamed";
    ArchiveProject: about("archived the project") as "Project archived";
    RestoreProject: about("restored the project") as "Project restored";
    AddProjectMember: between("added", "to the project") as "Member added to project";
    RemoveProjectMember: between("removed", "from the project") as "Member removed from project";
    ResetPassword: about("reset the password of");
    ChangePassword: alone("changed their password") as "Wrong current password";
    SignIn: alone("signed in") as "Signed in";
    LimitAttempts: about("made too many sign-in attempts as") as "Too many sign-in attempts";
    SignOut: alone("signed out");
    EndSession: about("ended the");
    CreateApiKey: about("created the API key") as "API key created";
    CreateRestrictedApiKey: about_and("created the API key", "which cannot manage keys")
        as "API key created, cannot manage keys";
    EditApiKey: about("edited the API key") as "API key edited";
    ChangeExpiry: about("changed the expiration of the API key") as "API key expiration changed";
    RotateApiKey: between("rotated the API key", "to") as "API key rotated";
    RevokeApiKey: about("revoked the API key") as "API key revoked";
    ExpireApiKey: about("recorded the expiration of the API key") as "API key expired";
    UseApiKey: between("tried to use the inactive API key", "of") as "Inactive API key used";
    RemoveAuditEvents: alone("removed old audit events");
    ExportAuditLog: alone("exported the audit log") as "Audit log exported";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_actions_of_no_organization_have_no_label() {
        let unlabelled: Vec<Action> = Action::ALL
            .iter()
            .copied()
            .filter(|action| action_label(*action).is_none())
            .collect();
        assert_eq!(
            unlabelled,
            [
                Action::CreateSetupLink,
                Action::ResetPassword,
                Action::SignOut,
                Action::EndSession,
                Action::RemoveAuditEvents,
            ]
        );
    }
}
