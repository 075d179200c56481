//! Organization Settings → Audit log: who did what, when and from where. For owners.

mod csv;
pub(crate) mod export;
mod json_lines;
mod search;
mod sentence;

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::AuditPage;
use keyward_domain::audit::{AuditEvent, Outcome};
use keyward_domain::page::{PageRequest, PageSize};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Query;
use crate::pages::html;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::refusal::Refusal;
use crate::viewer::Owner;
use crate::{Console, links};
use search::{Search, SearchForm};
use sentence::{Label, Party, Sentence};

#[derive(Template)]
#[template(path = "audit_log.html")]
struct AuditLogPage {
    settings: Settings,
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
    address: Option<String>,
    request_id: Option<String>,
    is_refused: bool,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    owner: Owner,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let slug = &owner.insider.member.organization.slug;
    let list = links::audit_log(slug);
    let search = Search::read(&console.audit_trail, &owner.authority, &query).await?;
    let settings = Settings::new(&owner.insider, Section::AuditLog);
    let Some(filter) = search.filter() else {
        let page = AuditLogPage {
            settings,
            form: search.form(&list, None),
            rows: Vec::new(),
            newest: None,
            older: None,
            csv: String::new(),
            json_lines: String::new(),
            list,
        };
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after: search.after,
    };
    let found = console
        .audit_trail
        .list(&owner.authority, filter, request)
        .await?;
    let row = |event| Row::new(event, &found, &search, &list);
    let page = AuditLogPage {
        settings,
        form: search.form(&list, Some(&found)),
        rows: found.events.items.iter().map(row).collect(),
        newest: search.after.map(|_| search.address(&list)),
        older: found.events.next.map(|next| search.address_after(&list, next)),
        csv: search.address(&links::audit_log_csv(slug)),
        json_lines: search.address(&links::audit_log_json_lines(slug)),
        list,
    };
    html(StatusCode::OK, &page)
}

impl Row {
    fn new(event: &AuditEvent, found: &AuditPage, search: &Search, list: &str) -> Self {
        let actor = Party::actor(event.actor, Some(found), |actor| {
            search.of_actor(actor).address(list)
        });
        let party = |subject| {
            Party::subject(subject, Some(found), |subject| {
                search.of_subject(subject).address(list)
            })
        };
        Self {
            at: Moment(event.at),
            sentence: Sentence::new(event, actor, party),
            address: event.source.address.map(|address| address.to_string()),
            request_id: event.source.request_id.clone(),
            is_refused: event.outcome == Outcome::Refused,
        }
    }
}
