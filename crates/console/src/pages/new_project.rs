//! The form that creates a project.

use askama::Template;
use keyward_domain::administration::ports::AddProjectError;
use keyward_domain::keys::IdempotencyKey;
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
    idempotency_key: IdempotencyKey,
    name: Field,
}

impl NewProjectPage {
    fn new(owner: &Owner, idempotency_key: IdempotencyKey, name: Field) -> Self {
        let settings = Settings::new(owner, Section::Projects);
        let name = Field {
            focused: true,
            ..name
        };
        Self {
            settings,
            idempotency_key,
            name,
        }
    }
}

#[handler]
pub(crate) async fn show(owner: Owner) -> Result<Response, Refusal> {
    owner.page(&NewProjectPage::new(
        &owner,
        owner.console.new_idempotency_key(),
        Field::default(),
    ))
}

#[handler]
pub(crate) async fn submit(Sent(owner, form, source): OwnerForm) -> Result<Response, Refusal> {
    let idempotency_key = form.idempotency_key()?;
    let mut field = Field::with_value(form.required("name")?);
    let Some(name) = field.check("Name", ProjectName::parse(&field.value)) else {
        let page = NewProjectPage::new(&owner, idempotency_key, field);
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    let projects = &owner.console.projects;
    let created = projects
        .create(&owner.authority, name, Some(idempotency_key), source)
        .await;
    let (id, message) = match created {
        Ok(project) => (project.id, Message::ProjectCreated),
        Err(AddProjectError::AlreadyCreated(id)) => (id, Message::ProjectAlreadyCreated),
        Err(error) => return Err(error.into()),
    };
    Ok(owner.redirect(paths::Project(owner.slug(), &id), message.about(id.as_uuid())))
}
