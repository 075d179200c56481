//! The form that creates a project.

use askama::Template;
use keyward_domain::project::ProjectName;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{OwnerForm, Sent};
use crate::pages::field::Field;
use crate::pages::settings::{Section, Settings};
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "new_project.html")]
struct NewProjectPage {
    settings: Settings,
    name: Field,
}

impl NewProjectPage {
    fn new(owner: &Owner, name: Field) -> Self {
        let settings = Settings::new(owner, Section::Projects);
        let name = Field {
            focused: true,
            ..name
        };
        Self { settings, name }
    }
}

#[handler]
pub(crate) async fn show(owner: Owner) -> Result<Response, Refusal> {
    owner.page(&NewProjectPage::new(&owner, Field::default()))
}

#[handler]
pub(crate) async fn submit(
    Sent {
        sender: owner,
        form,
        source,
    }: OwnerForm,
) -> Result<Response, Refusal> {
    let mut field = Field::with_value(form.required("name")?);
    let Some(name) = field.check("Name", ProjectName::parse(&field.value)) else {
        let page = NewProjectPage::new(&owner, field);
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    let projects = &owner.console.projects;
    let project = projects.create(&owner.authority, name, source).await?;
    let page = paths::Project(owner.slug(), &project.id);
    Ok(owner.lead_on(page, Message::ProjectCreated.about(project.id.as_uuid())))
}
