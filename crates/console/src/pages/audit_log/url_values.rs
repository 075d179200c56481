//! Text forms of actors, subjects and positions in URLs.

use chrono::{DateTime, Datelike};
use keyward_domain::audit::{Actor, Subject};
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::AuditPosition;
use uuid::Uuid;

use crate::pages::moment::YEARS;

/// No username has a colon, so a kind with an identifier cannot be mistaken for one.
pub(super) fn actor_to_text(actor: Actor) -> String {
    text_of(actor.kind(), actor.id())
}

pub(super) fn actor_from(text: &str) -> Option<Actor> {
    let (kind, id) = kind_and_id(text)?;
    let actor = Actor::from_kind(kind, id).ok();
    actor.filter(|actor| actor.id() == id)
}

pub(super) fn subject_to_text(subject: Subject) -> String {
    text_of(subject.kind(), subject.id())
}

/// The installation is never the subject of an organization's event, and no index serves that search.
pub(super) fn subject_from(text: &str) -> Option<Subject> {
    let (kind, id) = kind_and_id(text)?;
    let subject = Subject::from_kind(kind, id).ok();
    subject.filter(|subject| *subject != Subject::Installation)
}

fn text_of(kind: &str, id: Option<Uuid>) -> String {
    format!("{kind}:{}", id.map(|id| id.to_string()).unwrap_or_default())
}

fn kind_and_id(text: &str) -> Option<(&str, Option<Uuid>)> {
    let (kind, id) = text.split_once(':')?;
    if id.is_empty() {
        return Some((kind, None));
    }
    // Identifiers of all kinds have the same form.
    let id: ApiKeyId = id.parse().ok()?;
    Some((kind, Some(id.as_uuid())))
}

pub(super) fn position_to_text(position: AuditPosition) -> String {
    format!("{}:{}", position.at.timestamp_millis(), position.id)
}

pub(super) fn position_from(text: &str) -> Option<AuditPosition> {
    let (milliseconds, id) = text.split_once(':')?;
    let at = DateTime::from_timestamp_millis(milliseconds.parse().ok()?)?;
    Some(AuditPosition {
        at: YEARS.contains(&at.year()).then_some(at)?,
        id: id.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use keyward_domain::id::UserId;
    use keyward_domain::testing::Builder;

    use super::*;

    #[test]
    fn actors_subjects_and_positions_round_trip_through_urls() {
        let make = Builder::new(1);
        let (user, key): (UserId, ApiKeyId) = (make.ids.next(), make.ids.next());
        for actor in [
            Actor::User(user),
            Actor::ApiKey(key),
            Actor::Administrator,
            Actor::System,
            Actor::Anonymous,
        ] {
            assert_eq!(actor_from(&actor_to_text(actor)), Some(actor));
        }
        for subject in [
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
    fn damaged_query_values_are_refused() {
        for text in [
            "",
            ":",
            "user:",
            "user:1",
            "king:0",
            "administrator:1",
            "installation:",
            "9223372036854775807:0",
        ] {
            assert_eq!(actor_from(text), None, "{text}");
            assert_eq!(subject_from(text), None, "{text}");
            assert_eq!(position_from(text), None, "{text}");
        }
    }
}
