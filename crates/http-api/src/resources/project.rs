//! `/api/v1/user/projects/{id}`

use keyward_domain::id::ProjectId;
use poem_openapi::param::Path;
use poem_openapi::{ApiResponse, OpenApi};

use super::project_representations::ProjectItem;
use super::tag::Tag;
use crate::authentication::Authenticated;
use crate::json::Json;
use crate::paths::PROJECTS;
use crate::problem::Problem;
use crate::request::QueryNames;
use crate::services::Services;

pub(crate) struct ProjectResource;

#[derive(ApiResponse)]
pub(crate) enum GotProject {
    /// The project.
    #[oai(status = 200)]
    Found(Json<ProjectItem>),
}

#[OpenApi(prefix_path = PROJECTS, tag = "Tag::Projects")]
impl ProjectResource {
    /// Get a project
    ///
    /// A project that the calling key has access to. Any other project is not found.
    #[oai(path = "/:id", method = "get", operation_id = "getProject")]
    async fn get(
        &self,
        authenticated: Authenticated,
        query: QueryNames,
        services: &Services,
        /// The project's `id`.
        id: Path<String>,
    ) -> Result<GotProject, Problem> {
        query.only(&[])?;
        let id: ProjectId = id.parse().map_err(|_| Problem::no_such_project())?;
        let projects = &services.api.projects;
        let found = projects
            .find(authenticated.0.consumer().id, id, authenticated.0.accepted_at())
            .await?;
        let project = found.ok_or_else(Problem::no_such_project)?;
        Ok(GotProject::Found(Json(ProjectItem::from(&project))))
    }
}
