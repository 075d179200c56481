//! The search form of the audit log, and its conversion to a filter and to a URL.

use keyward_domain::administration::AuditPage;
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::ports::{AuditFilter, AuditPosition};

use super::day::{Day, day_after, start_of};
use super::resolution::{self, Ambiguity, Filter};
use super::sentence::{Participant, action_label};
use super::url_values::{
    actor_from, actor_to_text, position_from, position_to_text, subject_from, subject_to_text,
};
use crate::forms::Fields;
use crate::pages::field::{Field, focus_first_error};
use crate::paths::with_query;
use crate::reader::Owner;
use crate::refusal::Refusal;

/// The filter of the query.
#[derive(Clone)]
pub(super) struct Search {
    who: Filter<Actor>,
    action: Option<Action>,
    what: Filter<Subject>,
    from: Day,
    until: Day,
    /// Where the page begins.
    pub(super) after: Option<AuditPosition>,
}

/// The form as it is shown again.
pub(super) struct SearchForm {
    pub(super) who: FilterField,
    pub(super) actions: Vec<ActionOption>,
    pub(super) what: FilterField,
    pub(super) from: Field,
    pub(super) until: Field,
    pub(super) is_filtered: bool,
    pub(super) has_errors: bool,
}

/// A field for a user or an object, as typed or found.
pub(super) struct FilterField {
    pub(super) typed: Field,
    pub(super) found: Option<Found>,
    /// The matches, if there are several.
    pub(super) suggestions: Vec<Suggestion>,
}

/// One of several matches.
pub(super) struct Suggestion {
    pub(super) name: String,
    /// What distinguishes it from others of the same name.
    pub(super) detail: String,
    /// The same search with it.
    pub(super) url: String,
}

/// The user or object that was found.
pub(super) struct Found {
    pub(super) participant: Participant,
    /// Its value in the form.
    pub(super) value: String,
    /// The same search without it.
    pub(super) without: String,
}

/// An entry of the list of actions.
pub(super) struct ActionOption {
    pub(super) word: String,
    pub(super) label: String,
    pub(super) is_selected: bool,
}

impl Search {
    /// Reads the query. Values that people type are kept with their errors; wrong values that only our own links have
    /// are refused.
    pub(super) async fn read(owner: &Owner, query: &Fields) -> Result<Self, Refusal> {
        let given = |name| {
            query
                .optional(name)
                .map(str::trim)
                .filter(|text| !text.is_empty())
        };
        let who = match given("who") {
            None => Filter::Any,
            Some(typed) if let Some(actor) = actor_from(typed) => Filter::One(actor),
            Some(typed) => resolution::actor(owner, typed).await?,
        };
        let what = match given("what") {
            None => Filter::Any,
            Some(typed) if let Some(subject) = subject_from(typed) => Filter::One(subject),
            Some(typed) => resolution::subject(owner, typed).await?,
        };
        let action = match given("action") {
            None => None,
            Some(word) => Some(Action::from_word(word).ok_or(Refusal::BadUrl)?),
        };
        let after = match given("after") {
            None => None,
            Some(text) => Some(position_from(text).ok_or(Refusal::BadUrl)?),
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

    /// The filter by all fields that are unambiguous.
    pub(super) fn filter(&self) -> AuditFilter {
        AuditFilter {
            actor: self.who.clear(),
            action: self.action,
            subject: self.what.clear(),
            from: self.from.readable().map(start_of),
            until: self.until.readable().and_then(day_after).map(start_of),
        }
    }

    /// Whether something that was typed cannot be looked for.
    pub(super) fn has_errors(&self) -> bool {
        self.who.is_ambiguous()
            || self.what.is_ambiguous()
            || self.from.is_unreadable()
            || self.until.is_unreadable()
    }

    /// The same search without what cannot be looked for.
    pub(super) fn without_errors(&self) -> Self {
        Self {
            who: self.who.clear().map_or(Filter::Any, Filter::One),
            what: self.what.clear().map_or(Filter::Any, Filter::One),
            from: self.from.readable().map_or(Day::Any, Day::One),
            until: self.until.readable().map_or(Day::Any, Day::One),
            ..self.clone()
        }
    }

    /// The same search, but for events of this actor.
    pub(super) fn of_actor(&self, actor: Actor) -> Self {
        Self {
            who: Filter::One(actor),
            ..self.clone()
        }
    }

    /// The same search, but for this action.
    pub(super) fn of_action(&self, action: Action) -> Self {
        Self {
            action: Some(action),
            ..self.clone()
        }
    }

    /// The same search, but for events about this subject.
    pub(super) fn of_subject(&self, subject: Subject) -> Self {
        Self {
            what: Filter::One(subject),
            ..self.clone()
        }
    }

    /// The URL of the first page.
    pub(super) fn url(&self, path: &str) -> String {
        self.url_at(path, None)
    }

    /// The URL of the page that continues at this position.
    pub(super) fn url_after(&self, path: &str, position: AuditPosition) -> String {
        self.url_at(path, Some(position))
    }

    fn url_at(&self, path: &str, after: Option<AuditPosition>) -> String {
        let who = self.who.to_field(actor_to_text);
        let what = self.what.to_field(subject_to_text);
        let (from, until) = (self.from.to_field(), self.until.to_field());
        let after = after.map(position_to_text);
        with_query(
            path,
            [
                ("who", who.as_deref()),
                ("action", self.action.as_ref().map(Action::as_str)),
                ("what", what.as_deref()),
                ("from", from.as_deref()),
                ("until", until.as_deref()),
                ("after", after.as_deref()),
            ],
        )
    }

    /// The form as it is shown again.
    pub(super) fn form(&self, list: &str, known: &AuditPage) -> SearchForm {
        let anybody = Self {
            who: Filter::Any,
            ..self.clone()
        };
        let anything = Self {
            what: Filter::Any,
            ..self.clone()
        };
        let found_actor = |actor: Actor| Found {
            participant: Participant::actor(actor, known),
            value: actor_to_text(actor),
            without: anybody.url(list),
        };
        let found_subject = |subject: Subject| Found {
            participant: Participant::subject(subject, known),
            value: subject_to_text(subject),
            without: anything.url(list),
        };
        let mut form = SearchForm {
            who: self.who.to_filter_field(
                "No one found. Enter a name, a username, or the ID of a key.",
                found_actor,
                |actor| self.of_actor(actor).url(list),
            ),
            actions: self.action_options(),
            what: self.what.to_filter_field(
                "Nothing found. Enter a name, the last four characters of a token, or an ID.",
                found_subject,
                |subject| self.of_subject(subject).url(list),
            ),
            from: self.from.to_form_field(),
            until: self.until.to_form_field(),
            is_filtered: self.url(list) != list,
            has_errors: self.has_errors(),
        };
        if form.has_errors {
            let (who, what) = (&mut form.who.typed, &mut form.what.typed);
            focus_first_error(&mut [who, what, &mut form.from, &mut form.until]);
        }
        form
    }

    fn action_options(&self) -> Vec<ActionOption> {
        let known = Action::ALL
            .iter()
            .filter_map(|action| Some((*action, action_label(*action)?.to_owned())));
        // One that only a newer version knows is called by its word.
        let newer = self
            .action
            .filter(|action| matches!(action, Action::Other(_)))
            .map(|action| (action, action.as_str().to_owned()));
        known
            .chain(newer)
            .map(|(action, label)| ActionOption {
                word: action.as_str().to_owned(),
                label,
                is_selected: self.action == Some(action),
            })
            .collect()
    }

    fn with_days_in_order(mut self) -> Self {
        if let (Day::One(from), Day::One(until)) = (&self.from, &self.until)
            && until < from
        {
            self.until = Day::Unreadable {
                typed: until.to_string(),
                problem: "“Until” must not be before “From”.",
            };
        }
        self
    }
}

impl<T: Copy> Filter<T> {
    /// The choice, if it is clear.
    const fn clear(&self) -> Option<T> {
        match self {
            Self::One(chosen) => Some(*chosen),
            Self::Any | Self::Ambiguous { .. } => None,
        }
    }

    const fn is_ambiguous(&self) -> bool {
        match self {
            Self::Any | Self::One(_) => false,
            Self::Ambiguous { .. } => true,
        }
    }

    fn to_field(&self, text: fn(T) -> String) -> Option<String> {
        match self {
            Self::Any => None,
            Self::One(chosen) => Some(text(*chosen)),
            Self::Ambiguous { typed, .. } => Some(typed.clone()),
        }
    }

    fn to_filter_field(
        &self,
        unknown: &str,
        found: impl Fn(T) -> Found,
        instead: impl Fn(T) -> String,
    ) -> FilterField {
        let mut field = FilterField {
            typed: Field::default(),
            found: None,
            suggestions: Vec::new(),
        };
        match self {
            Self::Any => {}
            Self::One(one) => field.found = Some(found(*one)),
            Self::Ambiguous {
                typed,
                candidates,
                ambiguity,
            } => {
                field.typed = Field::with_value(typed);
                let problem = match ambiguity {
                    _ if candidates.is_empty() => unknown,
                    Ambiguity::NoExactMatch => "No exact match. Did you mean:",
                    Ambiguity::SeveralMatches => "Several have this name. Choose one:",
                    Ambiguity::TooManySimilar => "Many names match. Choose one, or enter more of the name:",
                };
                field.typed.error = Some(problem.to_owned());
                let suggestions = candidates.iter().map(|candidate| Suggestion {
                    name: candidate.name.clone(),
                    detail: candidate.detail.clone(),
                    url: instead(candidate.value),
                });
                field.suggestions = suggestions.collect();
            }
        }
        field
    }
}
