//! Organization Settings → Audit log: who did what, when and from where. For owners.

mod day;
pub(crate) mod export;
mod meant;
mod search;
mod sentence;
mod words_in_addresses;

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::AuditPage;
use keyward_domain::audit::{Action, Actor, AuditEvent, NewerWord, Outcome, Subject};
use keyward_domain::organization::Slug;
use keyward_domain::page::{PageRequest, PageSize};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Query;
use crate::pages::html;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::pages::tokenless_address::TokenlessAddress;
use crate::refusal::Refusal;
use crate::viewer::Owner;
use crate::{Console, links};
use search::{Search, SearchForm};
use sentence::{Label, Party, Sentence};

#[derive(Template)]
#[template(path = "audit_log.html")]
struct AuditLogPage {
    settings: Settings,
    kept_days: Option<i64>,
    /// The search was for a whole token, and is now for its last four characters.
    searched_for_token: bool,
    list: String,
    form: SearchForm,
    rows: Vec<Row>,
    newest: Option<String>,
    older: Option<String>,
    csv: String,
    json_lines: String,
}

/// An event in the table.
struct Row {
    at: Moment,
    sentence: Sentence,
    newer_action: Option<NewerAction>,
    address: Option<String>,
    request_id: Option<String>,
    is_refused: bool,
}

/// An action that only a newer version knows: its word, and where all such events are.
struct NewerAction {
    word: NewerWord,
    events: String,
}

#[handler]
pub(crate) async fn show(
    // First, since whoever has to sign in again goes on with the address.
    TokenlessAddress: TokenlessAddress,
    Data(console): Data<&Arc<Console>>,
    owner: Owner,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let slug = &owner.insider.member.organization.slug;
    let list = links::audit_log(slug);
    let asked = Search::read(console, &owner, &query).await?;
    // Where the form has errors no events are shown, but what is found of the rest tells the names of what was chosen.
    let search = asked.without_errors();
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after: search.after,
    };
    let found = console
        .audit_trail
        .list(&owner.authority, search.filter(), request)
        .await?;
    let rows = Rows {
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
        settings: Settings::new(&owner.insider, Section::AuditLog),
        searched_for_token: query.optional(TokenlessAddress::NOTICE).is_some(),
        kept_days: console.audit_events_kept_for.map(|period| period.num_days()),
        form: asked.form(&list, Some(&found)),
        rows: shown.iter().map(|event| rows.row(event)).collect(),
        newest: search.after.map(|_| search.address(&list)),
        older: older.map(|next| search.address_after(&list, next)),
        csv: search.address(&links::audit_log_csv(slug)),
        json_lines: search.address(&links::audit_log_json_lines(slug)),
        list,
    };
    let status = if asked.has_errors() {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    html(status, &page)
}

/// What the rows of a page have in common.
struct Rows<'a> {
    found: &'a AuditPage,
    search: &'a Search,
    slug: &'a Slug,
    list: &'a str,
}

impl Rows<'_> {
    fn row(&self, event: &AuditEvent) -> Row {
        let actor = self.actor(event.actor);
        Row {
            at: Moment(event.at),
            sentence: Sentence::new(event, self.found, actor, |subject| self.subject(subject)),
            newer_action: match event.action {
                Action::Other(word) => Some(NewerAction {
                    word,
                    events: self.search.of_action(event.action).address(self.list),
                }),
                _ => None,
            },
            address: event.source.address.map(|address| address.to_string()),
            request_id: event.source.request_id.clone(),
            is_refused: event.outcome == Outcome::Refused,
        }
    }

    fn actor(&self, actor: Actor) -> Party {
        let page = actor.as_subject().and_then(|subject| self.page_of(subject));
        let events = self.search.of_actor(actor).address(self.list);
        Party::actor(actor, Some(self.found)).leading_to(page, events)
    }

    fn subject(&self, subject: Subject) -> Party {
        let party = Party::subject(subject, Some(self.found));
        if subject == Subject::Installation {
            return party;
        }
        let events = self.search.of_subject(subject).address(self.list);
        party.leading_to(self.page_of(subject), events)
    }

    /// Where owners see it, as long as it is there.
    fn page_of(&self, subject: Subject) -> Option<String> {
        if !self.found.names.contains_key(&subject) {
            return None;
        }
        match subject {
            Subject::Organization(_) => Some(links::general(self.slug)),
            Subject::User(_) => {
                let username = self.found.usernames.get(&subject)?;
                Some(links::member_named(self.slug, username))
            }
            Subject::Membership(id) => Some(links::member(self.slug, id)),
            Subject::Project(id) => Some(links::project(self.slug, id)),
            Subject::ApiKey(id) => Some(links::organization_key(self.slug, id)),
            // Only those that are still open are listed.
            Subject::Invitation(_) | Subject::Session(_) | Subject::Other { .. } | Subject::Installation => {
                None
            }
        }
    }
}

impl Row {
    /// Everybody and everything in it, each once.
    fn parties(&self) -> Vec<&Party> {
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
