//! Finding and listing projects.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::{ProjectFilter, ProjectOverview, ProjectStatus};
use keyward_domain::id::{OrganizationId, ProjectId};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::StorageError;

use super::super::dialect::{Connection, RunQueryDsl, cancellable, contains, newest};
use super::super::schema::{memberships, project_members, projects};
use super::super::validity::membership_is_live;
use super::row::ProjectRow;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit::one_more;
use crate::search::is_in_no_text;
use crate::stored_row::count_or_zero;

pub(super) async fn find(
    connection: &mut Connection,
    organization: OrganizationId,
    id: ProjectId,
    now: DateTime<Utc>,
) -> Result<Option<ProjectOverview>, Abort<Infallible>> {
    let filter = ProjectFilter::new(ProjectStatus::All, None);
    let page = PageRequest::first(PageSize::ONE);
    let found = select(connection, organization, Some(id), &filter, page, now).await?;
    Ok(found.into_iter().next())
}

pub(super) async fn list(
    connection: &mut Connection,
    organization: OrganizationId,
    filter: ProjectFilter,
    page: PageRequest<ProjectId>,
    now: DateTime<Utc>,
) -> Result<Page<ProjectOverview, ProjectId>, Abort<Infallible>> {
    let projects = match filter.term().or(filter.name()) {
        Some(term) if is_in_no_text(term) => Vec::new(),
        _ => select(connection, organization, None, &filter, page, now).await?,
    };
    Ok(Page::from_one_more(projects, page.size, |overview| {
        overview.project.id
    }))
}

/// By descending identifier, with one more than the page has; one statement, so that all of it is of one
/// moment.
async fn select(
    connection: &mut Connection,
    organization: OrganizationId,
    only: Option<ProjectId>,
    filter: &ProjectFilter,
    page: PageRequest<ProjectId>,
    now: DateTime<Utc>,
) -> Result<Vec<ProjectOverview>, Abort<Infallible>> {
    let live_members = project_members::table
        .inner_join(memberships::table)
        .filter(project_members::project_id.eq(projects::id))
        .filter(membership_is_live(now.into()))
        .count()
        .single_value();
    let organization = StoredId(organization.as_uuid());
    let mut query = newest!(
        projects::table,
        projects::organization_id,
        organization,
        projects::id
    )
    .limit(one_more(page.size))
    .select((ProjectRow::as_select(), live_members))
    .into_boxed();
    query = match filter.status() {
        ProjectStatus::Active => query.filter(projects::archived_at.is_null()),
        ProjectStatus::Archived => query.filter(projects::archived_at.is_not_null()),
        ProjectStatus::All => query,
    };
    if let Some(id) = only {
        query = query.filter(projects::id.eq(StoredId(id.as_uuid())));
    }
    if let Some(after) = page.after {
        query = query.filter(projects::id.lt(StoredId(after.as_uuid())));
    }
    if let Some(term) = filter.term() {
        query = cancellable!(query, projects::id).filter(contains!(projects::search_text, term));
    }
    if let Some(name) = filter.name() {
        query = cancellable!(query, projects::id).filter(projects::search_text.eq(name.to_owned()));
    }
    let rows: Vec<(ProjectRow, Option<i64>)> = query.load(connection).await?;
    let projects: Result<Vec<ProjectOverview>, StorageError> = rows
        .into_iter()
        .map(|(project, members)| {
            Ok(ProjectOverview {
                project: project.try_into()?,
                members: count_or_zero(members),
            })
        })
        .collect();
    Ok(projects?)
}
