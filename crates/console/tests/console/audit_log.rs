//! The audit log, as owners read it.

mod exports;
mod filters;
mod readers;
mod sentences;
mod stopped_search;

use keyward_domain::audit::{Action, Actor, AuditEvent, RequestSource, Subject};
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::AuditLog;
use keyward_domain::sign_in::password::PasswordHash;
use keyward_domain::testing::TestInstallation;
use keyward_domain::user::DisplayName;

use crate::browser::Answer;

const LOG: &str = "/organizations/acme/settings/audit-log";
const CSV: &str = "/organizations/acme/settings/audit-log/export.csv";
const JSON_LINES: &str = "/organizations/acme/settings/audit-log/export.jsonl";

async fn record(
    installation: &TestInstallation,
    member: &Member,
    actor: Actor,
    action: Action,
    subject: Subject,
    object: Option<Subject>,
) -> AuditEvent {
    let mut act = installation.builder.act(actor);
    act.organization_id = Some(member.organization.id);
    act.source = RequestSource {
        address: Some([203, 0, 113, 9].into()),
        request_id: Some("request-17".to_owned()),
    };
    let event = AuditEvent {
        object,
        ..act.event(action, subject)
    };
    installation.store.record(event.clone()).await.unwrap();
    event
}

fn as_owner(member: &Member) -> Actor {
    Actor::User(member.user.id)
}

/// The text of the events alone.
fn events(answer: &Answer) -> String {
    let (_, table) = answer.body.split_once("<tbody").expect("a table");
    let (table, _) = table.split_once("</tbody>").unwrap();
    Answer {
        status: answer.status,
        headers: answer.headers.clone(),
        body: format!("<tbody{table}"),
    }
    .text()
}

/// A member with a name of their own choice.
fn called(installation: &TestInstallation, ada: &Member, username: &str, name: &str) -> Member {
    let mut user = installation.builder.user(username);
    user.display_name = DisplayName::parse(name).unwrap();
    let membership = installation
        .builder
        .membership(&ada.organization, &user, Role::Member);
    let hash = PasswordHash::from_phc_string("none".to_owned());
    installation.store.put_user(user.clone(), hash);
    installation.store.put_membership(membership.clone());
    Member {
        user,
        membership,
        organization: ada.organization.clone(),
    }
}
