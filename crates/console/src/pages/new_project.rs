//! The form that creates a project.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::ports::AddProjectError;
use keyward_domain::project::ProjectName;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Form;
use crate::pages::field::{Field, focus_first_error};
use crate::pages::project::after_creation;
use crate::pages::settings::{Section, Settings};
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::{Insider, Owner};
use crate::{Console, links};

#[derive(Template)]
#[template(path = "new_project.html")]
struct NewProjectPage {
    settings: Settings,
    list: String,
    name: Field,
}

#[handler]
pub(crate) fn show(Owner { insider, .. }: Owner) -> Result<Response, Refusal> {
    let mut page = NewProjectPage::new(&insider, Field::default());
    page.name.focused = true;
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let mut page = NewProjectPage::new(&insider, Field::with_value(form.required("name")?));
    let name = ProjectName::parse(&page.name.value);
    let Some(name) = page.name.check("Name", name) else {
        focus_first_error(&mut [&mut page.name]);
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    match console.projects.create(&authority, name, source).await {
        Ok(project) => Ok(redirect(&after_creation(
            &insider.member.organization.slug,
            project.id,
        ))),
        Err(AddProjectError::NotAllowed) => Err(Refusal::NotFound),
        Err(AddProjectError::Storage(error)) => Err(error.into()),
    }
}

impl NewProjectPage {
    fn new(insider: &Insider, name: Field) -> Self {
        Self {
            settings: Settings::new(insider, Section::Projects),
            list: links::projects(&insider.member.organization.slug),
            name,
        }
    }
}
