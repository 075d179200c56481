//! Finding and listing projects.

use std::convert::Infallible;

use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper, TextExpressionMethods};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::{ProjectFilter, ProjectOverview, ProjectStatus};
use keyward_domain::id::{OrganizationId, ProjectId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;

use super::row::ProjectRow;
use crate::abort::Abort;
use crate::limit::one_more;
use crate::postgres::schema::{memberships, project_members, projects};
use crate::postgres::search::containing;
use crate::stored_row::counted;

/// Which projects of an organization.
struct Selection {
    only: Option<ProjectId>,
    after: Option<ProjectId>,
    status: ProjectStatus,
    pattern: Option<String>,
    limit: i64,
}

pub(super) async fn find(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    id: ProjectId,
) -> Result<Option<ProjectOverview>, Abort<Infallible>> {
    let selection = Selection {
        only: Some(id),
        after: None,
        status: ProjectStatus::All,
        pattern: None,
        limit: 1,
    };
    Ok(select(connection, organization, selection).await?.pop())
}

pub(super) async fn list(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    filter: ProjectFilter,
    page: PageRequest<ProjectId>,
) -> Result<Page<ProjectOverview, ProjectId>, Abort<Infallible>> {
    let pattern = filter.term().map(containing);
    let projects = match pattern {
        Some(None) => Vec::new(),
        None | Some(Some(_)) => {
            let selection = Selection {
                only: None,
                after: page.after,
                status: filter.status(),
                pattern: pattern.flatten(),
                limit: one_more(page.size),
            };
            select(connection, organization, selection).await?
        }
    };
    Ok(Page::from_one_more(projects, page.size, |overview| {
        overview.project.id
    }))
}

/// By falling identifier; one statement, so that all of it is of one moment.
async fn select(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    selection: Selection,
) -> Result<Vec<ProjectOverview>, Abort<Infallible>> {
    let live_members = project_members::table
        .inner_join(memberships::table)
        .filter(project_members::project_id.eq(projects::id))
        .filter(memberships::ended_at.is_null())
        .count()
        .single_value();
    let mut query = projects::table
        .filter(projects::organization_id.eq(organization.as_uuid()))
        .order(projects::id.desc())
        .limit(selection.limit)
        .select((ProjectRow::as_select(), live_members))
        .into_boxed();
    query = match selection.status {
        ProjectStatus::Active => query.filter(projects::archived_at.is_null()),
        ProjectStatus::Archived => query.filter(projects::archived_at.is_not_null()),
        ProjectStatus::All => query,
    };
    if let Some(id) = selection.only {
        query = query.filter(projects::id.eq(id.as_uuid()));
    }
    if let Some(after) = selection.after {
        query = query.filter(projects::id.lt(after.as_uuid()));
    }
    if let Some(pattern) = selection.pattern {
        query = query.filter(projects::search_text.like(pattern));
    }
    let rows: Vec<(ProjectRow, Option<i64>)> = query.load(connection).await?;
    let projects: Result<Vec<ProjectOverview>, StorageError> = rows
        .into_iter()
        .map(|(project, members)| {
            Ok(ProjectOverview {
                project: project.try_into()?,
                members: counted(members),
            })
        })
        .collect();
    Ok(projects?)
}
