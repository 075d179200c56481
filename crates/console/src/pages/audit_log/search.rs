//! The search form of the audit log: what was asked for, as a filter, as an address and as it is shown again.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, Utc};
use keyward_domain::administration::{AuditPage, AuditTrail, Authority};
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::ports::{AuditFilter, AuditPosition};

use super::sentence::{Party, choice};
use crate::forms::Fields;
use crate::links;
use crate::pages::field::Field;
use crate::pages::moment::YEARS;
use crate::refusal::Refusal;

/// What was asked for.
#[derive(Clone)]
pub(super) struct Search {
    who: Chosen<Actor>,
    action: Option<Action>,
    what: Chosen<Subject>,
    from: Day,
    until: Day,
    /// Where the page begins.
    pub(super) after: Option<AuditPosition>,
}

/// Somebody or something, if it could be found.
#[derive(Clone)]
enum Chosen<T> {
    Any,
    One(T),
    /// What was typed names nothing in this organization.
    Unknown(String),
}

/// A day in UTC, if it is one.
#[derive(Clone)]
enum Day {
    Any,
    One(NaiveDate),
    Unreadable { typed: String, problem: &'static str },
}

/// The form as it is shown again.
pub(super) struct SearchForm {
    pub(super) who: Choice,
    pub(super) actions: Vec<ActionChoice>,
    pub(super) what: Choice,
    pub(super) from: Field,
    pub(super) until: Field,
    pub(super) is_filtered: bool,
    pub(super) has_errors: bool,
}

/// A field for somebody or something: to be typed, or found already.
pub(super) struct Choice {
    pub(super) typed: Field,
    pub(super) found: Option<Found>,
}

/// Who or what was found.
pub(super) struct Found {
    pub(super) party: Party,
    /// What the form sends for it.
    pub(super) value: String,
    /// The same search without it.
    pub(super) without: String,
}

/// An entry of the list of actions.
pub(super) struct ActionChoice {
    pub(super) word: &'static str,
    pub(super) label: &'static str,
    pub(super) is_chosen: bool,
}

impl Search {
    /// Reads what was asked for. What people type and may get wrong is kept with what is wrong with it; what only our
    /// own links send is refused.
    pub(super) async fn read(
        trail: &AuditTrail,
        authority: &Authority,
        query: &Fields,
    ) -> Result<Self, Refusal> {
        let given = |name| {
            query
                .optional(name)
                .map(str::trim)
                .filter(|text| !text.is_empty())
        };
        let who = match given("who") {
            None => Chosen::Any,
            Some(typed) if let Some(actor) = actor_from(typed) => Chosen::One(actor),
            Some(typed) => match trail.find_actor(authority, typed).await? {
                Some(actor) => Chosen::One(actor),
                None => Chosen::Unknown(typed.to_owned()),
            },
        };
        let what = match given("what") {
            None => Chosen::Any,
            Some(typed) if let Some(subject) = subject_from(typed) => Chosen::One(subject),
            Some(typed) => match trail.find_subject(authority, typed).await? {
                Some(subject) => Chosen::One(subject),
                None => Chosen::Unknown(typed.to_owned()),
            },
        };
        let action = match given("action") {
            None => None,
            Some(word) => Some(Action::from_word(word).ok_or(Refusal::BadAddress)?),
        };
        let after = match given("after") {
            None => None,
            Some(text) => Some(position_from(text).ok_or(Refusal::BadAddress)?),
        };
        Ok(Self {
            who,
            action,
            what,
            from: Day::parse(given("from")),
            until: Day::parse(given("until")),
            after,
        }
        .with_days_in_order())
    }

    /// What to look for; nothing as long as something is wrong.
    pub(super) fn filter(&self) -> Option<AuditFilter> {
        Some(AuditFilter {
            actor: self.who.checked()?,
            action: self.action,
            subject: self.what.checked()?,
            from: self.from.checked()?.map(start_of),
            until: self.until.checked()?.and_then(day_after).map(start_of),
        })
    }

    /// The same search, but for what this actor did.
    pub(super) fn of_actor(&self, actor: Actor) -> Self {
        Self {
            who: Chosen::One(actor),
            ..self.clone()
        }
    }

    /// The same search, but for what this was in.
    pub(super) fn of_subject(&self, subject: Subject) -> Self {
        Self {
            what: Chosen::One(subject),
            ..self.clone()
        }
    }

    /// The address of the first page.
    pub(super) fn address(&self, path: &str) -> String {
        self.address_at(path, None)
    }

    /// The address of the page that goes on there.
    pub(super) fn address_after(&self, path: &str, position: AuditPosition) -> String {
        self.address_at(path, Some(position))
    }

    fn address_at(&self, path: &str, after: Option<AuditPosition>) -> String {
        let who = self.who.to_field(actor_to_text);
        let what = self.what.to_field(subject_to_text);
        let (from, until) = (self.from.to_field(), self.until.to_field());
        let after = after.map(position_to_text);
        links::with_query(
            path,
            [
                ("who", who.as_deref()),
                ("action", self.action.map(Action::as_str)),
                ("what", what.as_deref()),
                ("from", from.as_deref()),
                ("until", until.as_deref()),
                ("after", after.as_deref()),
            ],
        )
    }

    /// The form as it is shown again; the names are known once events were looked for.
    pub(super) fn form(&self, list: &str, known: Option<&AuditPage>) -> SearchForm {
        let anybody = Self {
            who: Chosen::Any,
            ..self.clone()
        };
        let anything = Self {
            what: Chosen::Any,
            ..self.clone()
        };
        let found_actor = |actor: Actor| Found {
            party: Party::actor(actor, known, |_| String::new()),
            value: actor_to_text(actor),
            without: anybody.address(list),
        };
        let found_subject = |subject: Subject| Found {
            party: Party::subject(subject, known, |_| String::new()),
            value: subject_to_text(subject),
            without: anything.address(list),
        };
        SearchForm {
            who: self.who.to_choice(
                "Nobody here is called that. Type a username, or the id of a key.",
                found_actor,
            ),
            actions: self.action_choices(),
            what: self.what.to_choice(
                "Nothing here has this id. Type the whole id, or choose something in the list.",
                found_subject,
            ),
            from: self.from.to_shown(),
            until: self.until.to_shown(),
            is_filtered: self.address(list) != list,
            has_errors: self.filter().is_none(),
        }
    }

    fn action_choices(&self) -> Vec<ActionChoice> {
        let actions = Action::ALL.iter().copied();
        actions
            .filter_map(|action| {
                Some(ActionChoice {
                    word: action.as_str(),
                    label: choice(action)?,
                    is_chosen: self.action == Some(action),
                })
            })
            .collect()
    }

    fn with_days_in_order(mut self) -> Self {
        if let (Day::One(from), Day::One(until)) = (&self.from, &self.until)
            && until < from
        {
            self.until = Day::Unreadable {
                typed: until.to_string(),
                problem: "Until is before From.",
            };
        }
        self
    }
}

impl<T: Copy> Chosen<T> {
    /// The choice, if any; nothing at all if it names nothing.
    fn checked(&self) -> Option<Option<T>> {
        match self {
            Self::Any => Some(None),
            Self::One(chosen) => Some(Some(*chosen)),
            Self::Unknown(_) => None,
        }
    }

    fn to_field(&self, text: fn(T) -> String) -> Option<String> {
        match self {
            Self::Any => None,
            Self::One(chosen) => Some(text(*chosen)),
            Self::Unknown(typed) => Some(typed.clone()),
        }
    }

    fn to_choice(&self, problem: &str, found: impl Fn(T) -> Found) -> Choice {
        let mut typed = Field::default();
        let mut chosen = None;
        match self {
            Self::Any => {}
            Self::One(one) => chosen = Some(found(*one)),
            Self::Unknown(text) => {
                typed = Field::with_value(text);
                typed.error = Some(problem.to_owned());
            }
        }
        Choice { typed, found: chosen }
    }
}

impl Day {
    fn parse(text: Option<&str>) -> Self {
        let Some(typed) = text else { return Self::Any };
        match NaiveDate::parse_from_str(typed, "%Y-%m-%d") {
            Ok(day) if YEARS.contains(&day.year()) => Self::One(day),
            Ok(_) | Err(_) => Self::Unreadable {
                typed: typed.to_owned(),
                problem: "This is not a day. Write it like 2026-01-31.",
            },
        }
    }

    fn checked(&self) -> Option<Option<NaiveDate>> {
        match self {
            Self::Any => Some(None),
            Self::One(day) => Some(Some(*day)),
            Self::Unreadable { .. } => None,
        }
    }

    fn to_field(&self) -> Option<String> {
        match self {
            Self::Any => None,
            Self::One(day) => Some(day.to_string()),
            Self::Unreadable { typed, .. } => Some(typed.clone()),
        }
    }

    fn to_shown(&self) -> Field {
        let mut field = Field::with_value(&self.to_field().unwrap_or_default());
        if let Self::Unreadable { problem, .. } = self {
            field.error = Some((*problem).to_owned());
        }
        field
    }
}

fn start_of(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

fn day_after(day: NaiveDate) -> Option<NaiveDate> {
    day.checked_add_days(Days::new(1))
}

/// No username has a colon, so a kind with an identifier cannot be mistaken for one.
fn actor_to_text(actor: Actor) -> String {
    let id = actor.as_subject().and_then(Subject::id);
    format!(
        "{}:{}",
        actor.kind(),
        id.map(|id| id.to_string()).unwrap_or_default()
    )
}

fn actor_from(text: &str) -> Option<Actor> {
    match text.split_once(':')? {
        ("user", id) => Some(Actor::User(id.parse().ok()?)),
        ("api_key", id) => Some(Actor::ApiKey(id.parse().ok()?)),
        ("administrator", "") => Some(Actor::Administrator),
        ("anonymous", "") => Some(Actor::Anonymous),
        _ => None,
    }
}

fn subject_to_text(subject: Subject) -> String {
    let id = subject.id().map(|id| id.to_string());
    format!("{}:{}", subject.kind(), id.unwrap_or_default())
}

fn subject_from(text: &str) -> Option<Subject> {
    match text.split_once(':')? {
        ("installation", "") => Some(Subject::Installation),
        ("organization", id) => Some(Subject::Organization(id.parse().ok()?)),
        ("user", id) => Some(Subject::User(id.parse().ok()?)),
        ("membership", id) => Some(Subject::Membership(id.parse().ok()?)),
        ("invitation", id) => Some(Subject::Invitation(id.parse().ok()?)),
        ("project", id) => Some(Subject::Project(id.parse().ok()?)),
        ("api_key", id) => Some(Subject::ApiKey(id.parse().ok()?)),
        ("session", id) => Some(Subject::Session(id.parse().ok()?)),
        _ => None,
    }
}

fn position_to_text(position: AuditPosition) -> String {
    format!("{}:{}", position.at.timestamp_millis(), position.id)
}

fn position_from(text: &str) -> Option<AuditPosition> {
    let (milliseconds, id) = text.split_once(':')?;
    let at = DateTime::from_timestamp_millis(milliseconds.parse().ok()?)?;
    Some(AuditPosition {
        at: YEARS.contains(&at.year()).then_some(at)?,
        id: id.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use keyward_domain::id::{ApiKeyId, UserId};
    use keyward_domain::testing::Builder;

    use super::*;

    #[test]
    fn actors_subjects_and_positions_read_back_from_addresses() {
        let make = Builder::new(1);
        let (user, key): (UserId, ApiKeyId) = (make.ids.next(), make.ids.next());
        for actor in [
            Actor::User(user),
            Actor::ApiKey(key),
            Actor::Administrator,
            Actor::Anonymous,
        ] {
            assert_eq!(actor_from(&actor_to_text(actor)), Some(actor));
        }
        for subject in [
            Subject::Installation,
            Subject::Organization(make.ids.next()),
            Subject::User(user),
            Subject::Membership(make.ids.next()),
            Subject::Invitation(make.ids.next()),
            Subject::Project(make.ids.next()),
            Subject::ApiKey(key),
            Subject::Session(make.ids.next()),
        ] {
            assert_eq!(subject_from(&subject_to_text(subject)), Some(subject));
        }
        let position = AuditPosition {
            at: "2026-01-01T00:00:00.123Z".parse().unwrap(),
            id: make.ids.next(),
        };
        assert_eq!(position_from(&position_to_text(position)), Some(position));
    }

    #[test]
    fn damaged_addresses_name_nothing() {
        for text in [
            "",
            ":",
            "user:",
            "user:1",
            "king:0",
            "administrator:1",
            "9223372036854775807:0",
        ] {
            assert_eq!(actor_from(text), None, "{text}");
            assert_eq!(subject_from(text), None, "{text}");
            assert_eq!(position_from(text), None, "{text}");
        }
    }

    #[test]
    fn a_day_is_read_as_browsers_and_people_write_it() {
        assert!(matches!(Day::parse(Some("2026-01-31")), Day::One(_)));
        assert!(matches!(Day::parse(None), Day::Any));
        for text in ["31.1.2026", "2026-02-30", "tomorrow", "+262142-12-31"] {
            assert!(matches!(Day::parse(Some(text)), Day::Unreadable { .. }), "{text}");
        }
    }
}
