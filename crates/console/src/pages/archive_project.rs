//! The confirmation page for archiving a project, and restoring it. The script shows its form in a dialog on the
//! project's page.

use askama::Template;
use keyward_domain::administration::ports::ProjectOverview;
use keyward_domain::id::ProjectId;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{OwnerForm, Sent};
use crate::pages::filters;
use crate::pages::project::find;
use crate::pages::settings::{Section, Settings};
use crate::path_id::PathId;
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "archive_project.html")]
struct ArchiveProjectPage {
    settings: Settings,
    overview: ProjectOverview,
    confirmation_missing: bool,
}

#[handler]
pub(crate) async fn show(owner: Owner, PathId(id): PathId<ProjectId>) -> Result<Response, Refusal> {
    page(&owner, id, StatusCode::OK).await
}

#[handler]
pub(crate) async fn submit(
    Sent(owner, form, source): OwnerForm,
    PathId(id): PathId<ProjectId>,
) -> Result<Response, Refusal> {
    if !form.is_confirmed() {
        return page(&owner, id, StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    owner
        .console
        .projects
        .archive(&owner.authority, id, source)
        .await?;
    let project = paths::Project(owner.slug(), &id);
    Ok(owner.redirect(project, Message::ProjectArchived.about(id.as_uuid())))
}

#[handler]
pub(crate) async fn restore(
    Sent(owner, _, source): OwnerForm,
    PathId(id): PathId<ProjectId>,
) -> Result<Response, Refusal> {
    owner
        .console
        .projects
        .restore(&owner.authority, id, source)
        .await?;
    let project = paths::Project(owner.slug(), &id);
    Ok(owner.redirect(project, Message::ProjectRestored.about(id.as_uuid())))
}

async fn page(owner: &Owner, id: ProjectId, status: StatusCode) -> Result<Response, Refusal> {
    let page = ArchiveProjectPage {
        settings: Settings::new(owner, Section::Projects),
        overview: find(owner, id).await?,
        confirmation_missing: status != StatusCode::OK,
    };
    Ok(html(status, &page)?)
}
