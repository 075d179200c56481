//! Organization Settings → Audit log: who did what, when and from where. For owners.

mod candidates;
mod day;
pub(crate) mod export;
mod resolution;
mod search;
mod sentence;
mod url_values;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::administration::AuditPage;
use keyward_domain::audit::{Action, Actor, AuditEvent, NewerWord, Outcome, Subject};
use keyward_domain::organization::Slug;
use keyward_domain::page::{PageRequest, PageSize};
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::forms::Query;
use crate::pages::filters;
use crate::pages::notice::Notice;
use crate::pages::settings::{Section, Settings};
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;
use search::{Search, SearchForm};
use sentence::{Label, Participant, Sentence, Value};

#[derive(Template)]
#[template(path = "audit_log.html")]
struct AuditLogPage {
    settings: Settings,
    kept_days: Option<i64>,
    notice: Option<Notice>,
    list: String,
    form: SearchForm,
    rows: Vec<LoggedEvent>,
    newest: Option<String>,
    older: Option<String>,
    /// How far back the search went before the page was full, if it stopped there.
    searched_back_to: Option<DateTime<Utc>>,
    csv: String,
    json_lines: String,
}

/// The URL of what happened to a subject.
pub(super) fn events_about(subject: Subject, organization: &Slug) -> String {
    paths::with_query(
        paths::AuditLog(organization),
        [("what", Some(&*url_values::subject_to_text(subject)))],
    )
}

/// The URL of revocations by people who were not signed in, who reported leaks.
pub(super) fn anonymous_revocations(organization: &Slug) -> String {
    let who = url_values::actor_to_text(Actor::Anonymous);
    paths::with_query(
        paths::AuditLog(organization),
        [
            ("who", Some(&*who)),
            ("action", Some(Action::RevokeApiKey.as_str())),
        ],
    )
}

/// An event in the table.
struct LoggedEvent {
    at: DateTime<Utc>,
    sentence: Sentence,
    newer_action: Option<NewerAction>,
    address: Option<String>,
    /// Done by the command line or by Keyward itself, so that there is no address. Other events may also lack one:
    /// resource servers do not report from where a token came.
    is_by_server: bool,
    request_id: Option<String>,
    is_refused: bool,
}

/// An action that only a newer version knows: its word, and the URL of all such events.
struct NewerAction {
    word: NewerWord,
    events: String,
}

#[handler]
pub(crate) async fn show(owner: Owner, Query(query): Query) -> Result<Response, Refusal> {
    let (console, slug) = (&owner.console, owner.slug());
    let list = paths::AuditLog(slug).to_string();
    let asked = Search::read(&owner, &query).await?;
    // If the form has errors, no events are shown, but a search by the valid fields finds the names of their values.
    let search = asked.without_errors();
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after: search.after,
    };
    let found = console
        .audit_trail
        .list(&owner.authority, search.filter(), request)
        .await?;
    let context = LogContext {
        found: &found,
        search: &search,
        slug,
        list: &list,
    };
    let (shown, older) = if asked.has_errors() {
        (&[][..], None)
    } else {
        (found.events.items.as_slice(), found.events.next)
    };
    let page = AuditLogPage {
        settings: Settings::new(&owner, Section::AuditLog),
        notice: Notice::for_owner(&owner).await?,
        kept_days: console.audit_events_kept_for.map(|period| period.num_days()),
        form: asked.form(&list, &found),
        rows: shown.iter().map(|event| context.logged_event(event)).collect(),
        newest: search.after.map(|_| search.url(&list)),
        older: older.map(|next| search.url_after(&list, next)),
        searched_back_to: older
            .filter(|_| shown.len() < request.size.items())
            .map(|position| position.at),
        csv: search.url(&paths::AuditLogCsv(slug).to_string()),
        json_lines: search.url(&paths::AuditLogJsonLines(slug).to_string()),
        list,
    };
    if asked.has_errors() {
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    }
    owner.page(&page)
}

/// Data for all events of a page.
struct LogContext<'a> {
    found: &'a AuditPage,
    search: &'a Search,
    slug: &'a Slug,
    list: &'a str,
}

impl LogContext<'_> {
    fn logged_event(&self, event: &AuditEvent) -> LoggedEvent {
        let actor = self.actor(event.actor);
        LoggedEvent {
            at: event.at,
            sentence: Sentence::new(event, self.found, actor, |subject| self.subject(subject)),
            newer_action: match event.action {
                Action::Other(word) => Some(NewerAction {
                    word,
                    events: self.search.of_action(event.action).url(self.list),
                }),
                _ => None,
            },
            address: event.source.address.map(|address| address.to_string()),
            is_by_server: matches!(event.actor, Actor::Administrator | Actor::System),
            request_id: event.source.request_id.clone(),
            is_refused: event.outcome == Outcome::Refused,
        }
    }

    fn actor(&self, actor: Actor) -> Participant {
        let page = actor.as_subject().and_then(|subject| self.page_of(subject));
        let events = self.search.of_actor(actor).url(self.list);
        Participant::actor(actor, self.found).leading_to(page, events)
    }

    fn subject(&self, subject: Subject) -> Participant {
        let participant = Participant::subject(subject, self.found);
        if subject == Subject::Installation {
            return participant;
        }
        let events = self.search.of_subject(subject).url(self.list);
        participant.leading_to(self.page_of(subject), events)
    }

    /// The URL of its page for owners, if it still exists.
    fn page_of(&self, subject: Subject) -> Option<String> {
        if !self.found.names.contains_key(&subject) {
            return None;
        }
        match subject {
            Subject::Organization(_) => Some(paths::General(self.slug).to_string()),
            Subject::User(_) => {
                let username = self.found.names.get(&subject)?.username.as_ref()?;
                Some(paths::member_named(self.slug, username))
            }
            Subject::Membership(id) => Some(paths::Member(self.slug, &id).to_string()),
            Subject::Project(id) => Some(paths::Project(self.slug, &id).to_string()),
            Subject::ApiKey(id) => Some(paths::OrganizationKey(self.slug, &id).to_string()),
            // Only those that are still open are listed.
            Subject::Invitation(_) | Subject::Session(_) | Subject::Other { .. } | Subject::Installation => {
                None
            }
        }
    }
}

impl LoggedEvent {
    /// The participants of the event, each once.
    fn participants(&self) -> Vec<&Participant> {
        let Sentence {
            actor,
            subject,
            object,
            ..
        } = &self.sentence;
        let others = [subject, object].into_iter().filter_map(Option::as_ref);
        std::iter::once(actor).chain(others).collect()
    }
}
