//! `/api/v1/user/projects`

use keyward_domain::page::{PageRequest, PageSize};
use poem_openapi::{ApiResponse, OpenApi};

use super::project_cursor::ProjectCursor;
use super::project_representations::{ProjectItem, ProjectPage};
use super::tag::Tag;
use crate::authentication::Authenticated;
use crate::json::Json;
use crate::paths::PROJECTS;
use crate::problem::Problem;
use crate::request::{QueryNames, QueryParameter};
use crate::services::{HttpApi, Services};

pub(crate) struct ProjectsResource;

#[derive(ApiResponse)]
pub(crate) enum ListedProjects {
    /// A page of projects, newest first.
    #[oai(status = 200)]
    Page(
        Json<ProjectPage>,
        /// The URL of the next page, with `rel="next"` (RFC 8288). Absent on the last page.
        #[oai(header = "Link")]
        Option<String>,
    ),
}

#[OpenApi(prefix_path = PROJECTS, tag = "Tag::Projects")]
impl ProjectsResource {
    /// List projects
    ///
    /// The projects that the calling key has access to, newest first: the projects of its organization that
    /// its user is a member of and that are not archived. Repeated and unknown query parameters are refused.
    #[oai(path = "/", method = "get", operation_id = "listProjects")]
    async fn list(
        &self,
        authenticated: Authenticated,
        query: QueryNames,
        services: &Services,
        /// The maximum number of projects on the page.
        limit: QueryParameter<PageSize>,
        /// The `nextCursor` of the previous page.
        cursor: QueryParameter<ProjectCursor>,
    ) -> Result<ListedProjects, Problem> {
        query.only(&["limit", "cursor"])?;
        let page = PageRequest {
            size: limit.0.unwrap_or_default(),
            after: cursor.0.map(|cursor| cursor.after),
        };
        let HttpApi {
            projects, base_url, ..
        } = &services.api;
        let page = projects
            .list(authenticated.0.consumer().id, page, authenticated.0.accepted_at())
            .await?;

        let next_cursor = page.next.map(|after| ProjectCursor { after }.encode());
        let next_page = |cursor: &String| base_url.next_page(PROJECTS, limit.0, cursor);
        let link = next_cursor.as_ref().map(next_page);
        let items = page.items.iter().map(ProjectItem::from).collect();
        Ok(ListedProjects::Page(
            Json(ProjectPage { items, next_cursor }),
            link,
        ))
    }
}
