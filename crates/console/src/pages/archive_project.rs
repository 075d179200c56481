//! Archiving a project, deliberately, and restoring it. The script shows this page's form in a dialog on the project's
//! page.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::Authority;
use keyward_domain::id::ProjectId;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Form;
use crate::pages::moment::Moment;
use crate::pages::project::{after_archiving, after_restoring, find, not_changed};
use crate::pages::settings::{Section, Settings};
use crate::pages::{html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::{Insider, Owner};
use crate::{Console, links};

#[derive(Template)]
#[template(path = "archive_project.html")]
struct ArchiveProjectPage {
    settings: Settings,
    /// The project's own page.
    project: String,
    address: String,
    name: String,
    members: u32,
    archived: Option<Moment>,
    confirmation_missing: bool,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    PathId(id): PathId<ProjectId>,
) -> Result<Response, Refusal> {
    html(StatusCode::OK, &page(console, &insider, &authority, id).await?)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<ProjectId>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    if form.optional("confirm") != Some("yes") {
        let page = ArchiveProjectPage {
            confirmation_missing: true,
            ..page(console, &insider, &authority, id).await?
        };
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    match console.projects.archive(&authority, id, source).await {
        Ok(()) => Ok(redirect(&after_archiving(&insider.member.organization.slug, id))),
        Err(error) => Err(not_changed(error)),
    }
}

#[handler]
pub(crate) async fn restore(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<ProjectId>,
    Source(source): Source,
    Form(_): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    match console.projects.restore(&authority, id, source).await {
        Ok(()) => Ok(redirect(&after_restoring(&insider.member.organization.slug, id))),
        Err(error) => Err(not_changed(error)),
    }
}

async fn page(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
    id: ProjectId,
) -> Result<ArchiveProjectPage, Refusal> {
    let overview = find(console, insider, authority, id).await?;
    let slug = &insider.member.organization.slug;
    Ok(ArchiveProjectPage {
        settings: Settings::new(insider, Section::Projects),
        project: links::project(slug, id),
        address: links::archive_project(slug, id),
        name: overview.project.name.to_string(),
        members: overview.members,
        archived: overview.project.archived_at.map(Moment),
        confirmation_missing: false,
    })
}
