//! The criteria of a filter, and the indexes that serve them: who did something, what, and to what.

use diesel::helper_types::IntoBoxed;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel::sql_types::{Nullable, Text};
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::ports::AuditFilter;

use super::super::super::dialect::{Database, Id};
use super::super::super::schema::audit_events;
use crate::columns::StoredId;

diesel::define_sql_function! {
    /// The first argument that is not null. For a word and itself that is the word, but neither database
    /// knows that, and so neither uses an index for it.
    #[sql_name = "coalesce"]
    fn either_word(first: Text, second: Text) -> Text;
}

diesel::define_sql_function! {
    /// The same for identifiers.
    #[sql_name = "coalesce"]
    fn either_id(first: Nullable<Id>, second: Nullable<Id>) -> Nullable<Id>;
}

/// A search of the audit log.
pub(super) type Query = IntoBoxed<'static, audit_events::table, Database>;

/// One criterion of a filter.
#[derive(Clone, Copy)]
pub(super) enum Criterion {
    Subject(Subject),
    Actor(Actor),
    Action(Action),
}

/// An index that has events in the order of the list, and the value to look up in it.
#[derive(Clone, Copy)]
pub(super) enum Index {
    Time,
    Subject(Subject),
    Object(Subject),
    Actor(Actor),
    Action(Action),
}

impl Criterion {
    /// All criteria of the filter, the likely most selective first.
    pub(super) fn of(filter: &AuditFilter) -> Vec<Self> {
        let subject = filter.subject.map(Self::Subject);
        let actor = filter.actor.map(Self::Actor);
        let action = filter.action.map(Self::Action);
        [subject, actor, action].into_iter().flatten().collect()
    }

    /// Whether it names a subject with an identifier.
    pub(super) fn is_about_one(&self) -> bool {
        matches!(self, Self::Subject(subject) if subject.id().is_some())
    }

    /// The indexes to read. (With OR in one query, the databases would sort all matching events.)
    pub(super) fn indexes(self) -> Vec<Index> {
        match self {
            Self::Subject(subject) => vec![Index::Subject(subject), Index::Object(subject)],
            Self::Actor(actor) => vec![Index::Actor(actor)],
            Self::Action(action) => vec![Index::Action(action)],
        }
    }

    /// Adds the criterion to a query that reads the index of another one.
    pub(super) fn filter_without_index(self, query: Query) -> Query {
        match self {
            Self::Subject(subject) => {
                let (kind, id) = (subject.kind(), subject.id());
                let Some(id) = id.map(StoredId) else {
                    return Index::Subject(subject).filter(query);
                };
                let is_subject = either_id(audit_events::subject_id, audit_events::subject_id)
                    .eq(id)
                    .and(audit_events::subject_kind.eq(kind.to_owned()));
                let is_object = either_id(audit_events::object_id, audit_events::object_id)
                    .eq(id)
                    .and(audit_events::object_kind.eq(kind.to_owned()));
                query.filter(is_subject.or(is_object))
            }
            Self::Actor(actor) => {
                let (kind, id) = (actor.kind(), actor.id());
                let query =
                    query.filter(either_word(audit_events::actor_kind, audit_events::actor_kind).eq(kind));
                match id {
                    Some(id) => query
                        .filter(either_id(audit_events::actor_id, audit_events::actor_id).eq(StoredId(id))),
                    None => query.filter(audit_events::actor_id.is_null()),
                }
            }
            Self::Action(action) => query.filter(
                either_word(audit_events::action, audit_events::action).eq(action.as_str().to_owned()),
            ),
        }
    }
}

impl Index {
    /// Makes the query read the index. Kinds are not compared: they are not in the index.
    pub(super) fn enter(self, query: Query) -> Query {
        match self {
            Self::Time => query,
            Self::Subject(subject) => match subject.id() {
                Some(id) => query.filter(audit_events::subject_id.eq(StoredId(id))),
                None => query.filter(audit_events::subject_id.is_null()),
            },
            Self::Object(subject) => match subject.id() {
                Some(id) => query.filter(audit_events::object_id.eq(StoredId(id))),
                None => query.filter(audit_events::object_id.is_null()),
            },
            Self::Actor(actor) => {
                let (kind, id) = (actor.kind(), actor.id());
                match id {
                    Some(id) => query.filter(audit_events::actor_id.eq(StoredId(id))),
                    None => query
                        .filter(audit_events::actor_kind.eq(kind))
                        .filter(audit_events::actor_id.is_null()),
                }
            }
            Self::Action(action) => query.filter(audit_events::action.eq(action.as_str().to_owned())),
        }
    }

    /// Makes the query read the index, for the events that match.
    pub(super) fn filter(self, query: Query) -> Query {
        let query = self.enter(query);
        match self {
            Self::Time | Self::Action(_) => query,
            Self::Subject(subject) => query.filter(audit_events::subject_kind.eq(subject.kind().to_owned())),
            Self::Object(subject) => query.filter(audit_events::object_kind.eq(subject.kind().to_owned())),
            Self::Actor(actor) => query.filter(audit_events::actor_kind.eq(actor.kind())),
        }
    }
}
